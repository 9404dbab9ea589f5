package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// tarball is a source with those models of groq's, and nothing of the others.
func tarball(t *testing.T, license, models string) []byte {
	t.Helper()
	files := map[string]string{"package/package.json": `{"name":"@x/y","version":"1.2.3","author":"Someone","license":"` + license + `"}`}
	sums := map[string]string{}
	for _, name := range from {
		text := "{}"
		if name == "groq" {
			text = models
		}
		files[dataDir+name+".json"] = text
		sums[name+".json"] = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	}
	manifest, err := json.Marshal(map[string]any{"generatedAt": "2026-11-20T10:48:49Z", "files": sums})
	if err != nil {
		t.Fatal(err)
	}
	files[dataDir+".manifest.json"] = string(manifest)
	return pack1(t, files)
}

func pack1(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zw := gzip.NewWriter(&out)
	tw := tar.NewWriter(zw)
	for name, text := range files {
		if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tw, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func unpack1(t *testing.T, packed []byte) []record {
	t.Helper()
	zr, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var out []record
	if err := json.NewDecoder(zr).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

const groq = `{"b-api":{
 "chat:claude-x":{"type":"chat","id":"claude-x","name":"X","api":"b-api","reasoning":true,"input":["text","image"],
   "cost":{"input":3,"output":15,"cacheRead":0.3,"cacheWrite":3.75,"tiers":[{"inputTokensAbove":200000,"input":6,"output":22.5,"cacheRead":0.6,"cacheWrite":7.5}]},
   "contextWindow":200000,"maxTokens":64000,"thinkingLevelMap":{"off":null,"minimal":null,"medium":null,"max":"max"},
   "compat":{"supportsTemperature":false,"thinkingFormat":"openai","requiresReasoningContentOnAssistantMessages":true}},
 "chat:nothing":{"type":"chat","id":"nothing","name":"nothing","api":"b-api","input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":1000,"maxTokens":1000},
 "chat:gift":{"type":"chat","id":"gift","api":"b-api","input":["text"],"cost":{"input":0,"output":0},"contextWindow":1000,"maxTokens":10},
 "chat:dear":{"type":"chat","id":"dear","api":"b-api","input":["text"],"cost":{"input":0.2565,"output":1,"cacheRead":0.26},"contextWindow":1000,"maxTokens":10},
 "classifier:c":{"type":"classifier","id":"c","api":"b-api","contextWindow":1}
}}`

const overlay = `{
 "free": [{"provider":"groq","match":"gift","why":"w"}],
 "set": [{"provider":"groq","match":"claude-*","set":{"in":["image","pdf"],"traits":{"pdf":true},"minCache":7},"why":"w"}],
 "add": [{"provider":"cohere","usd":{"input":2.5,"output":10},"model":{"id":"new","context":5},"why":"w"}],
 "copy": [{"provider":"vertex","from":"groq","match":"claude-*","why":"w"}],
 "notices": [{"source":"Other 1","license":"MIT"}]
}`

func TestGenerate(t *testing.T) {
	t.Parallel()
	packed := tarball(t, "MIT", groq)
	files, odd, err := generate(packed, []byte(overlay))
	if err != nil {
		t.Fatal(err)
	}
	if len(odd) != 1 || !strings.Contains(odd[0], "groq:dear: a cached token costs more") {
		t.Errorf("odd: %q", odd)
	}
	got := unpack1(t, files["groq.json.gz"])
	want := []record{
		{
			ID: "claude-x", Name: "X", Context: 200000, Output: 64000, Input: []string{"image", "pdf"}, MinCache: 7,
			Price: &rates{3_000_000, 15_000_000, 300_000, 3_750_000, 6_000_000},
			Tiers: []tier{{200_000, 6_000_000, 22_500_000, 600_000, 7_500_000, 12_000_000}},
			Traits: map[string]any{
				"images": true, "pdf": true, "thinking": true, "noTemperature": true, "thinkingStyle": "flat",
				"efforts": map[string]any{"off": "", "minimal": "low", "medium": "high", "xhigh": "max"},
			},
			Compat: &compat{ReasoningContent: true},
		},
		{ID: "dear", Context: 1000, Output: 10, Price: &rates{256_500, 1_000_000, 256_500, 256_500, 256_500}},
		{ID: "gift", Context: 1000, Output: 10, Price: &rates{}},
		{ID: "nothing", Context: 1000},
	}
	if !reflect.DeepEqual(got, want) {
		g, _ := json.MarshalIndent(got, "", " ")
		t.Errorf("got %s", g)
	}
	if got := unpack1(t, files["cohere.json.gz"]); len(got) != 1 || got[0].Source != "by hand" || *got[0].Price != (rates{2_500_000, 10_000_000, 2_500_000, 2_500_000, 2_500_000}) {
		t.Errorf("added: %+v", got)
	}
	if v := unpack1(t, files["vertex.json.gz"]); len(v) != 1 || v[0].ID != "claude-x" || v[0].Price != nil || v[0].Tiers != nil || v[0].Context != 200000 || v[0].Source != "as for groq" {
		t.Errorf("copied: %+v", v)
	}
	for _, want := range []string{"@x/y 1.2.3 (npm), made 2026-11-20", "Copyright (c) Someone", "Other 1", "Permission is hereby granted"} {
		if !strings.Contains(string(files["NOTICE"]), want) {
			t.Errorf("NOTICE does not have %q", want)
		}
	}
	// The same again, from a tarball in another order.
	again, _, err := generate(tarball(t, "MIT", groq), []byte(overlay))
	if err != nil || !maps.EqualFunc(files, again, bytes.Equal) {
		t.Errorf("another run makes other bytes: %v", err)
	}
}

func TestGenerateErrors(t *testing.T) {
	t.Parallel()
	model := func(cost string) string {
		return `{"a":{"chat:m":{"type":"chat","id":"m","cost":` + cost + `,"contextWindow":10}}}`
	}
	for _, tt := range []struct{ name, license, models, overlay, want string }{
		{"licence", "GPL-3.0", "{}", "{}", "the licence"},
		{"price", "MIT", model(`{"input":-1,"output":1}`), "{}", "is not a price"},
		{"price too fine", "MIT", model(`{"input":0.0000001,"output":1}`), "{}", "out of range"},
		{"price too high", "MIT", model(`{"input":1e12,"output":1}`), "{}", "out of range"},
		{"tiers", "MIT", model(`{"input":1,"output":1,"tiers":[{"inputTokensAbove":0,"input":1}]}`), "{}", "tier above 0"},
		{"overlay's key", "MIT", "{}", `{"sets":[]}`, "unknown field"},
		{"overlay's field", "MIT", model(`{"input":1,"output":1}`), `{"set":[{"provider":"groq","match":"m","set":{"window":1},"why":"w"}]}`, "unknown field"},
		{"no reason", "MIT", "{}", `{"set":[{"provider":"groq","match":"*","set":{}}]}`, "needs a reason"},
		{"nothing to correct", "MIT", "{}", `{"set":[{"provider":"groq","match":"*","set":{},"why":"w"}]}`, "changes nothing"},
		{"added twice", "MIT", model(`{"input":1,"output":1}`), `{"add":[{"provider":"groq","model":{"id":"m"},"why":"w"}]}`, "by now"},
	} {
		_, _, err := generate(tarball(t, tt.license, tt.models), []byte(tt.overlay))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, _, err := generate([]byte("no tarball"), []byte("{}")); err == nil {
		t.Error("what is no tarball makes files")
	}
	changed := pack1(t, map[string]string{
		"package/package.json": `{"license":"MIT"}`, dataDir + "groq.json": "{}",
		dataDir + ".manifest.json": `{"generatedAt":"2026-11-20T10:48:49Z","files":{"groq.json":"00"}}`,
	})
	if _, _, err := generate(changed, []byte("{}")); err == nil || !strings.Contains(err.Error(), "not what the manifest says") {
		t.Errorf("a file that was changed: %v", err)
	}
}

// TestEfforts holds that every effort gets a word that the model knows.
func TestEfforts(t *testing.T) {
	t.Parallel()
	word := func(s string) *string { return &s }
	for _, tt := range []struct {
		in   map[string]*string
		want map[string]string
	}{
		{nil, nil},
		{map[string]*string{"off": nil}, map[string]string{"off": "", "xhigh": "high"}},
		{map[string]*string{"off": word("none"), "xhigh": word("x")}, map[string]string{"off": "none", "xhigh": "x"}},
		{
			map[string]*string{"minimal": nil, "low": nil, "medium": nil, "high": word("default")},
			map[string]string{"minimal": "default", "low": "default", "medium": "default", "high": "default", "xhigh": "default"},
		},
		{
			map[string]*string{"minimal": nil, "low": nil, "medium": nil, "high": nil, "max": nil},
			map[string]string{},
		},
	} {
		if got := efforts(tt.in); !maps.Equal(got, tt.want) {
			t.Errorf("efforts(%v) = %v, want %v", slices.Sorted(maps.Keys(tt.in)), got, tt.want)
		}
	}
}

// TestOverlay holds that the corrections are well formed: that they fit the
// source is checked when the data is made.
func TestOverlay(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("overlay.json")
	if err != nil {
		t.Fatal(err)
	}
	var c corrections
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Set {
		if s.Why == "" || s.Provider == "" || s.Match == "" {
			t.Errorf("%+v", s)
		}
	}
}

// TestCurrent holds that the data is what the generator makes of its source,
// of which CANTLE_CATALOG_SOURCE names the tarball.
func TestCurrent(t *testing.T) {
	t.Parallel()
	path := os.Getenv("CANTLE_CATALOG_SOURCE")
	if path == "" {
		t.Skip("CANTLE_CATALOG_SOURCE names no tarball: npm pack makes the one that data/NOTICE names")
	}
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("overlay.json")
	if err != nil {
		t.Fatal(err)
	}
	files, _, err := generate(packed, text)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile("../../../llm/catalog/data/" + name)
		if err != nil {
			t.Error(err)
			continue
		}
		// Compressors differ between versions of Go, and what they keep does not.
		if strings.HasSuffix(name, ".gz") {
			if !reflect.DeepEqual(unpack1(t, got), unpack1(t, want)) {
				t.Errorf("%s is not what the generator makes", name)
			}
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator makes", name)
		}
	}
}
