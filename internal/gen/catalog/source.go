package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// source is what the tarball holds that we use.
type source struct {
	Name, Version, Author, License string
	Made                           time.Time
	Files                          map[string][]sourceModel // by the source's name of the provider
}

// sourceModel is a model as the source describes it. Prices are in US dollars
// a million tokens; 0 says both "free" and "not known".
type sourceModel struct {
	Type    string   `json:"type"`
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	API     string   `json:"api"`
	Thinks  bool     `json:"reasoning"`
	Input   []string `json:"input"`
	Cost    sourceCost
	Window  int                `json:"contextWindow"`
	Output  int                `json:"maxTokens"`
	Efforts map[string]*string `json:"thinkingLevelMap"`
	Compat  struct {
		Temperature      *bool  `json:"supportsTemperature"`
		Adaptive         bool   `json:"forceAdaptiveThinking"`
		Thinking         string `json:"thinkingFormat"`
		Effort           *bool  `json:"supportsReasoningEffort"`
		ReasoningContent bool   `json:"requiresReasoningContentOnAssistantMessages"`
		MaxField         string `json:"maxTokensField"`
		CacheControl     string `json:"cacheControlFormat"`
	} `json:"compat"`
}

type sourceCost struct {
	sourceRates
	Tiers []struct {
		Above int64 `json:"inputTokensAbove"`
		sourceRates
	} `json:"tiers"`
}

type sourceRates struct {
	Input      json.Number `json:"input"`
	Output     json.Number `json:"output"`
	CacheRead  json.Number `json:"cacheRead"`
	CacheWrite json.Number `json:"cacheWrite"`
}

const (
	dataDir = "package/dist/providers/data/"
	// maxFile bounds what is unpacked of one file.
	maxFile = 64 << 20
)

// unpack reads the tarball of the npm package and checks the files against the
// hashes of its manifest.
func unpack(packed []byte) (*source, error) {
	zr, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("the tarball: %w", err)
	}
	raw := map[string][]byte{}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("the tarball: %w", err)
		}
		if h.Name != "package/package.json" && (!strings.HasPrefix(h.Name, dataDir) || !strings.HasSuffix(h.Name, ".json")) {
			continue
		}
		if h.Size > maxFile {
			return nil, fmt.Errorf("the tarball: %s has %d bytes", h.Name, h.Size)
		}
		if raw[h.Name], err = io.ReadAll(tr); err != nil {
			return nil, fmt.Errorf("the tarball: %s: %w", h.Name, err)
		}
	}
	s := &source{Files: map[string][]sourceModel{}}
	var pkg struct{ Name, Version, Author, License string }
	if err := json.Unmarshal(raw["package/package.json"], &pkg); err != nil {
		return nil, fmt.Errorf("package.json: %w", err)
	}
	s.Name, s.Version, s.Author, s.License = pkg.Name, pkg.Version, pkg.Author, pkg.License
	if s.License != "MIT" {
		return nil, fmt.Errorf("package.json: the licence is %q, and data/NOTICE speaks of MIT", s.License)
	}
	var manifest struct {
		GeneratedAt time.Time
		Files       map[string]string
	}
	if err := json.Unmarshal(raw[dataDir+".manifest.json"], &manifest); err != nil {
		return nil, fmt.Errorf("%s.manifest.json: %w", dataDir, err)
	}
	s.Made = manifest.GeneratedAt
	for name, want := range manifest.Files {
		text, ok := raw[dataDir+name]
		if !ok {
			return nil, fmt.Errorf("%s is in the manifest and not in the tarball", name)
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != want {
			return nil, fmt.Errorf("%s is not what the manifest says: its SHA-256 is %x", name, sum)
		}
		// The outer keys are APIs, the inner ones kinds and names: all of it
		// is in the models too.
		var apis map[string]map[string]sourceModel
		if err := json.Unmarshal(text, &apis); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var list []sourceModel
		for _, models := range apis {
			for _, m := range models {
				if m.Type == "chat" {
					list = append(list, m)
				}
			}
		}
		s.Files[strings.TrimSuffix(name, ".json")] = list
	}
	return s, nil
}
