package main_test

import "golang.org/x/sys/unix"

const ioctlTermios = unix.TCGETS
