package atomicfile

// WriteWith is Write with another way to rename.
var WriteWith = write
