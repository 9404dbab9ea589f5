package permissiontest_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/permission/permissiontest"
)

// files are the cases: those of each part of the decisions, and those of what
// developers do and of what attackers try.
var files = []string{"cases.jsonl", "work.jsonl"}

func TestCases(t *testing.T) {
	for _, name := range files {
		f, err := os.Open(filepath.Join("..", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		report, err := permissiontest.Run(f, permissiontest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Failures {
			t.Errorf("%s: %+v", name, f)
		}
		if report.Passed < 200 {
			t.Errorf("%s: %d cases passed", name, report.Passed)
		}
	}
}

// Whatever is decided on, modes and rules stand to one another as they should:
// what is denied is denied in every mode, what is firm is asked about in each;
// no permission makes a decision stricter, and no restriction makes one looser.
func TestCasesHoldTogether(t *testing.T) {
	var cases []permissiontest.Case
	for _, name := range files {
		b, err := os.ReadFile(filepath.Join("..", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			var c permissiontest.Case
			if err := json.Unmarshal(line, &c); err != nil {
				t.Fatal(err)
			}
			cases = append(cases, c)
		}
	}
	strict := map[permission.Effect]int{permission.Allow: 0, permission.Ask: 1, permission.Deny: 2}
	none := permissiontest.Options{}
	for i, c := range cases {
		in := func(m permission.Mode) permission.Verdict {
			c := c
			c.Mode = string(m)
			return c.Decide(none)
		}
		d, e, n, a, p := in(permission.Default), in(permission.AcceptEdits), in(permission.DontAsk), in(permission.Bypass), in(permission.Plan)
		yes := c.Setup != nil && c.Setup.Yes
		switch {
		case d.Effect == permission.Deny && (e.Effect != d.Effect || n.Effect != d.Effect || a.Effect != d.Effect || p.Effect != d.Effect),
			d.Effect == permission.Allow && (e.Effect != d.Effect || n.Effect != d.Effect || a.Effect != d.Effect),
			d.Effect == permission.Ask && d.Firm && (e.Effect != d.Effect || a.Effect != d.Effect),
			d.Effect == permission.Ask && !d.Firm && a.Effect != permission.Allow,
			n.Effect == permission.Ask, !yes && (n.Effect == permission.Allow) != (d.Effect == permission.Allow),
			strict[p.Effect] < strict[d.Effect], strict[e.Effect] > strict[d.Effect]:
			t.Errorf("%s: default %+v\nacceptEdits %+v\ndontAsk %+v\nbypassPermissions %+v\nplan %+v", c.ID, d, e, n, a, p)
		}
		for _, step := range []int{1, 17, 101, 401} {
			other := cases[(i+step)%len(cases)].Rules
			for _, more := range []struct {
				allow, deny, ask []string
			}{{allow: other.Allow}, {deny: other.Deny}, {ask: other.Ask}} {
				with := c
				rules := *c.Rules
				rules.Allow, rules.Deny, rules.Ask = slices.Concat(rules.Allow, more.allow), slices.Concat(rules.Deny, more.deny), slices.Concat(rules.Ask, more.ask)
				with.Rules = &rules
				was, is := c.Decide(none), with.Decide(none)
				if more.allow != nil && strict[is.Effect] > strict[was.Effect] || more.allow == nil && strict[is.Effect] < strict[was.Effect] {
					t.Errorf("%s with %+v: %+v, was %+v", c.ID, more, is, was)
				}
			}
		}
	}
}
