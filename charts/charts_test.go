package charts

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3":                 "1.2.3",
		"1.2.3":                  "1.2.3",
		"v1.2.3-rc.1":            "1.2.3-rc.1",
		"v1.2.3-14-g1a2b3c4":     "1.2.3-14-g1a2b3c4",
		"0123456":                "0.0.0-g0123456",
		"1a2b3c4-dirty":          "0.0.0-g1a2b3c4-dirty",
		"e6605be":                "0.0.0-e6605be",
		"dev":                    "0.0.0-dev",
		"v01.2.3":                "0.0.0-v01-2-3",
		"":                       "0.0.0-dev",
		"v1.2.3-x_y":             "0.0.0-v1-2-3-x-y",
		"release/2026-11":        "0.0.0-release-2026-11",
		"v1.2.3+build.5-does-no": "0.0.0-v1-2-3-build-5-does-no",
	} {
		if got := Version(version); got != want {
			t.Errorf("Version(%q) = %q, want %q", version, got, want)
		}
	}
}

// The chart that the program carries is the one that helm packs of the folder.
func TestFilesAreWhatHelmPacks(t *testing.T) {
	dir := t.TempDir()
	if _, errs, err := helm(t, "package", Name, "--destination", dir, "--version", "1.2.3", "--app-version", "v1.2.3"); err != nil {
		t.Fatal(errs)
	}
	packed := untar(t, filepath.Join(dir, "fairlead-1.2.3.tgz"))
	files, err := Files("v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
		if f.Name != "Chart.yaml" && packed[f.Name] != string(f.Data) {
			t.Errorf("%s is not what helm packs", f.Name)
		}
	}
	var want []string
	for name := range packed {
		want = append(want, name)
	}
	slices.Sort(want)
	slices.Sort(names)
	if !slices.Equal(names, want) {
		t.Errorf("files: %v\nhelm packs: %v", names, want)
	}
	// What was versioned here is a chart to helm, too.
	own := filepath.Join(t.TempDir(), Name)
	for _, f := range files {
		path := filepath.Join(own, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, errs, err := helm(t, "template", "x", own, "--values", "testdata/minimal.values.yaml", "--set", "image.tag=")
	if err != nil {
		t.Fatal(errs)
	}
	for _, want := range []string{`image: "registry.example.com/platform/fairlead:v1.2.3"`, "helm.sh/chart: fairlead-1.2.3", `app.kubernetes.io/version: "v1.2.3"`} {
		if !strings.Contains(out, want) {
			t.Errorf("the chart of v1.2.3 renders no %s", want)
		}
	}
}

func TestFilesRefuseAVersion(t *testing.T) {
	for _, version := range []string{"", "a b", "v1\nname: x"} {
		if _, err := Files(version); err == nil || !strings.Contains(err.Error(), "tag of an image") {
			t.Errorf("Files(%q): %v, want a refusal", version, err)
		}
	}
}

// untar returns the files of a packed chart by their path in the chart.
func untar(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(h.Name, Name+"/")] = string(b)
	}
}
