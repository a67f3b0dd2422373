package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A region is a main part of a view, and where it is.
type region struct {
	Name       string
	X, Y, W, H int
}

// regions returns those of what the tab shows.
func (t *tab) regions() []region {
	t.t.Helper()
	var out []region
	text := t.eval(`JSON.stringify([...document.querySelectorAll("header, #links, #news, main, h1, form, .map, main table, main section, main details, footer")].map(e => {
		const r = e.getBoundingClientRect();
		return {name: e.localName + (e.id && "#" + e.id) + (e.className && "." + String(e.className).split(" ")[0]), x: Math.round(r.x), y: Math.round(r.y), w: Math.round(r.width), h: Math.round(r.height)};
	}).filter(r => !r.name.startsWith("section") || r.name.includes("#")))`)
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.t.Fatal(err)
	}
	return out
}

// looks takes screenshots in both schemes, which are kept where go test -artifacts says, and
// sees that they have the size of the window and something in each region.
func (t *tab) looks(tt *testing.T, name string, regions []region) {
	tt.Helper()
	var ground []color.Color
	for _, scheme := range []string{"light", "dark"} {
		t.scheme(scheme)
		picture, err := png.Decode(bytes.NewReader(t.picture("png")))
		if err != nil {
			tt.Fatal(err)
		}
		file, err := os.Create(filepath.Join(tt.ArtifactDir(), name+"-"+scheme+".png"))
		if err != nil {
			tt.Fatal(err)
		}
		if err := png.Encode(file, picture); err != nil {
			tt.Fatal(err)
		}
		if err := file.Close(); err != nil {
			tt.Fatal(err)
		}
		if size := picture.Bounds().Size(); size != image.Pt(1440, 900) {
			tt.Errorf("%s: the picture is %s", scheme, size)
		}
		for _, r := range regions {
			at := image.Rect(r.X, r.Y, r.X+r.W, r.Y+r.H).Intersect(picture.Bounds())
			if at.Dy() > 8 && blank(picture, at) {
				tt.Errorf("%s: nothing is seen of %s at %s", scheme, r.Name, at)
			}
		}
		ground = append(ground, picture.At(1, 899))
	}
	if ground[0] == ground[1] {
		tt.Errorf("light and dark have one ground: %v", ground[0])
	}
	t.scheme("light")
}

// blank reports whether all of at has one colour.
func blank(picture image.Image, at image.Rectangle) bool {
	first := picture.At(at.Min.X, at.Min.Y)
	for y := at.Min.Y; y < at.Max.Y; y++ {
		for x := at.Min.X; x < at.Max.X; x++ {
			if picture.At(x, y) != first {
				return false
			}
		}
	}
	return true
}

// regionsFile has where the regions of each view are, in a window of 1440 pixels.
const regionsFile = "testdata/regions.txt"

// A layout is where the regions of views are.
type layout struct {
	known, seen map[string][]region // by view
}

// readRegions returns what regionsFile says.
func readRegions(t *testing.T) *layout {
	t.Helper()
	l := &layout{known: map[string][]region{}, seen: map[string][]region{}}
	text, err := os.ReadFile(regionsFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var view string
		var r region
		if _, err := fmt.Sscanf(line, "%s %s %d %d %d %d", &view, &r.Name, &r.X, &r.Y, &r.W, &r.H); err != nil {
			t.Fatalf("%s: %q: %v", regionsFile, line, err)
		}
		l.known[view] = append(l.known[view], r)
	}
	return l
}

// compare holds the regions of a view against the known ones. Fonts differ from one machine
// to the next, and with them where lines end.
func (l *layout) compare(t *testing.T, view string, seen []region) {
	t.Helper()
	l.seen[view] = seen
	if os.Getenv("UPDATE") != "" {
		return
	}
	known := l.known[view]
	names := func(list []region) (out []string) {
		for _, r := range list {
			out = append(out, r.Name)
		}
		return out
	}
	if !slices.Equal(names(known), names(seen)) {
		t.Fatalf("it has the regions %v, and had %v: look at it, and write them down with UPDATE=1", names(seen), names(known))
	}
	for i, r := range seen {
		k := known[i]
		near := func(a, b, least, percent int) bool { return abs(a-b) <= max(least, b*percent/100) }
		if !near(r.X, k.X, 60, 10) || !near(r.Y, k.Y, 80, 25) || !near(r.W, k.W, 60, 10) || !near(r.H, k.H, 80, 35) {
			t.Errorf("%s is at %d,%d with %d×%d, and was at %d,%d with %d×%d: look at it, and write it down with UPDATE=1", r.Name, r.X, r.Y, r.W, r.H, k.X, k.Y, k.W, k.H)
		}
	}
}

func abs(n int) int { return max(n, -n) }

// write writes regionsFile with UPDATE=1.
func (l *layout) write(t *testing.T) {
	t.Helper()
	if os.Getenv("UPDATE") == "" {
		return
	}
	maps.Copy(l.known, l.seen)
	var b strings.Builder
	for _, view := range slices.Sorted(maps.Keys(l.known)) {
		for _, r := range l.known[view] {
			fmt.Fprintf(&b, "%s %s %d %d %d %d\n", view, r.Name, r.X, r.Y, r.W, r.H)
		}
	}
	if err := os.WriteFile(regionsFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
