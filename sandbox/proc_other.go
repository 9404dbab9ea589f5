//go:build unix && !linux

package sandbox

// groupMembers: no portable way lists a group; its number is its leader's.
func groupMembers(pgrp int) []int { return []int{pgrp} }

func groupAlive(int) bool { return true } // the signal's word counts
