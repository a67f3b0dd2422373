package script

import (
	"crypto"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"fairlead.dev/sources/oci/ocitest"
)

// A place is the registry of a script.
type place struct {
	registry *ocitest.Registry
	fleet    ocitest.Repository
	key      crypto.Signer
}

// placeOf is the key of a place in the values of a script.
type placeOf struct{}

// A script is a testscript with methods of testing.TB.
type script struct{ *testscript.TestScript }

func (s script) Helper()           {}
func (s script) Fatal(args ...any) { s.Fatalf("%s", fmt.Sprint(args...)) }
func (s script) Log(args ...any)   { s.Logf("%s", fmt.Sprint(args...)) }
func (s script) Cleanup(f func())  { s.Defer(bounded("the registry", s.Log, f)) }

// registry starts one and sets $OCI to a repository in it, and writes cosign.pub; or it
// does as one that is away, or is back: registry [away|back]
func registry(ts *testscript.TestScript, neg bool, args []string) {
	p, _ := ts.Value(placeOf{}).(*place)
	switch {
	case neg || len(args) > 1:
		ts.Fatalf("usage: registry [away|back]")
	case len(args) == 0:
		p.registry = ocitest.New(script{ts})
		p.fleet = p.registry.Repository("team/fleet")
		key, public := ocitest.NewKey(script{ts})
		p.key = key
		ts.Setenv("OCI", p.fleet.OCI())
		ts.Check(os.WriteFile(ts.MkAbs("cosign.pub"), public, 0o600))
	case args[0] == "away":
		p.registry.Fault(func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		})
	default:
		p.registry.Fault(nil)
	}
}

// artifact pushes the clone as flux push artifact does, as made at an hour, and sets a
// variable to its digest: artifact TAG HOUR VARIABLE
func artifact(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: artifact TAG HOUR VARIABLE")
	}
	hour, err := strconv.Atoi(args[1])
	ts.Check(err)
	files, root := map[string]string{}, ts.MkAbs("fleet")
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		b, err := os.ReadFile(path)
		files[filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))] = string(b)
		return err
	}))
	p := ts.Value(placeOf{}).(*place)
	ts.Setenv(args[2], p.fleet.Artifact(script{ts}, args[0], time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC), files, nil))
}

// cosign signs an artifact, by a tag or in a bundle: cosign sign|bundle DIGEST
func cosign(ts *testscript.TestScript, neg bool, args []string) {
	p := ts.Value(placeOf{}).(*place)
	switch {
	case neg || len(args) != 2:
		ts.Fatalf("usage: cosign sign|bundle DIGEST")
	case args[0] == "sign":
		p.fleet.Sign(script{ts}, args[1], p.key, nil)
	default:
		p.fleet.Bundle(script{ts}, args[1], p.key, "https://sigstore.dev/cosign/sign/v1")
	}
}

// movetag moves a tag: movetag TAG DIGEST
func movetag(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: movetag TAG DIGEST")
	}
	p := ts.Value(placeOf{}).(*place)
	p.registry.Move(p.fleet.Name, args[0], args[1])
}
