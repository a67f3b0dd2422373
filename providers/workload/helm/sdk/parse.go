package sdk

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader/archive"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
)

// mostNested is how deep charts hold packed charts.
const mostNested = 4

// unpack returns the files of a packed chart. What Helm will parse of them, and of the
// charts that are packed in it, is within limits; left is how many bytes all of them may
// still have.
func unpack(pack []byte, depth int, left *int64) ([]*archive.BufferedFile, error) {
	if depth > mostNested {
		return nil, fmt.Errorf("charts are packed into each other more than %d levels deep", mostNested)
	}
	files, err := archive.LoadArchiveFiles(bytes.NewReader(pack))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if *left -= int64(len(f.Data)); *left < 0 {
			return nil, fmt.Errorf("the chart and those in it have more than %d bytes", archive.MaxDecompressedChartSize)
		}
	}
	for _, f := range files {
		switch base := path.Base(f.Name); {
		case strings.HasPrefix(f.Name, "charts/") && path.Ext(f.Name) == ".tgz" && strings.Count(f.Name, "/") == 1:
			_, err = unpack(f.Data, depth+1, left)
		case slices.Contains([]string{"Chart.yaml", "Chart.lock", "values.yaml", "requirements.yaml", "requirements.lock"}, base):
			_, err = documents.Plain(f.Data, documents.AddonLimits())
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return files, nil
}

// An index is what matters of the index.yaml of a repository. Helm's own reader has no
// limits, and builds all charts of an index for the one that is asked for.
// Source: Helm, pkg/repo/v1: IndexFile.
type index struct {
	Entries map[string][]indexEntry `json:"entries"`
}

type indexEntry struct {
	Version string   `json:"version"`
	URLs    []string `json:"urls"`
	Digest  string   `json:"digest"`
}

// indexLimits are those of what is parsed of an index.
func indexLimits() documents.Limits {
	return documents.Limits{Bytes: maxIndex, Documents: 10, Nodes: 300_000, Depth: 50, Expanded: 16 << 20}
}

// readIndex returns what an index has of the chart called name; found is false where it
// has no such chart.
func readIndex(raw []byte, name string) (versions []indexEntry, found bool, err error) {
	limits := indexLimits()
	var list []indexEntry
	if part := entryOf(raw, name); part != nil && documents.Unmarshal(part, &list, limits) == nil && len(list) > 0 {
		return list, true, nil
	}
	var i index
	if err := documents.Unmarshal(raw, &i, limits); err != nil {
		return nil, false, fleet.Errorf(fleet.Invalid, "read index.yaml", "%w", err)
	}
	versions, found = i.Entries[name]
	return versions, found, nil
}

// entryOf returns the text of the list that index has of the chart called name, where it
// is written as Helm writes it; else nil. Large repositories have tens of megabytes on
// thousands of charts, of which one is asked for.
func entryOf(index []byte, name string) []byte {
	rest := index
	inEntries, start := false, -1
	for at := 0; at < len(index); {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		line := bytes.TrimRight(rest[:end], " \t\r\n")
		rest = rest[end:]
		switch text := bytes.TrimLeft(line, " "); {
		case len(text) == 0 || text[0] == '#':
		case start >= 0 && len(line)-len(text) <= 2 && !bytes.HasPrefix(line, []byte("  -")):
			return index[start:at]
		case len(text) == len(line):
			inEntries = string(line) == "entries:"
		case inEntries && start < 0 && string(line) == "  "+name+":":
			start = at + end
		}
		at += end
	}
	if start < 0 {
		return nil
	}
	return index[start:]
}
