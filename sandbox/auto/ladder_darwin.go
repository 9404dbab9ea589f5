package auto

// ladder is what is tried, best first.
func ladder() []string { return []string{Seatbelt} }
