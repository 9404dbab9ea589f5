module github.com/cantle-dev/cantle

go 1.26.0

require github.com/bmatcuk/doublestar/v4 v4.10.4 // indirect
