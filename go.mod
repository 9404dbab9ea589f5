module github.com/cantle-dev/cantle

go 1.26.0
