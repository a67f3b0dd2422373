package script

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// editor does what the editor of a forge does with a link of the page of a cluster: it
// writes the file that the link names, with the text that it has or that the page shows to
// copy, into a clone:
// editor PAGE WHAT CLONE
func editor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: editor PAGE WHAT CLONE")
	}
	resp, err := client().Get(args[0] + ".json")
	ts.Check(err)
	defer resp.Body.Close()
	var page struct {
		Ask []struct{ What, URL, Path, Text string }
	}
	ts.Check(json.NewDecoder(resp.Body).Decode(&page))
	for _, a := range page.Ask {
		if a.What != args[1] {
			continue
		}
		link, err := url.Parse(a.URL)
		ts.Check(err)
		name, text := link.Query().Get("filename"), link.Query().Get("value")
		if name == "" { // it is to be copied
			name, text = a.Path, a.Text
		}
		file := filepath.Join(ts.MkAbs(args[2]), filepath.FromSlash(name))
		ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
		ts.Check(os.WriteFile(file, []byte(text), 0o644))
		ts.Setenv("LINK", a.URL)
		return
	}
	ts.Fatalf("%s offers no %q: %+v", args[0], args[1], page.Ask)
}
