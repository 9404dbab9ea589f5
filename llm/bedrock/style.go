package bedrock

// Style is the thinking style that is told from the name of a model, or from
// [Options.Family]; "" if it is not known, and then the model is not told how
// to think.
func Style(name string) string { return style(family(name)) }
