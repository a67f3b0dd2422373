package contexts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

// What is written is what is read, by nobody else.
func TestRoundTrip(t *testing.T) {
	name, err := File(func(string) string { return t.TempDir() })
	if err != nil {
		t.Fatal(err)
	}
	none, err := Read(name)
	if err != nil || len(none.List) != 0 {
		t.Fatalf("without a file: %v, %v", none, err)
	}
	var c Contexts
	c.Set(Context{Name: "staging", Flags: Flags{"source": {"https://git.example.com/staging.git"}}})
	c.Set(Context{Name: "prod", Flags: Flags{"source": {"https://git.example.com/old.git"}}})
	c.Set(Context{Name: "prod", Flags: Flags{"source": {"https://git.example.com/prod.git"}, "request-keys": {"a.pub", "b.pub"}}})
	c.Current = "prod"
	if err := c.Write(name); err != nil {
		t.Fatal(err)
	}
	got, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, got); diff != "" || got.List[0].Source() != "https://git.example.com/prod.git" {
		t.Errorf("-written +read:\n%s", diff)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	got.Delete("prod")
	if got.Current != "" || len(got.List) != 1 {
		t.Errorf("after Delete: %+v", got)
	}
}

// A file that cannot be understood is refused by its name, and says what is wrong.
func TestRefused(t *testing.T) {
	const head = "apiVersion: fairlead.dev/v1alpha1\nkind: Config\n"
	for name, c := range map[string]struct{ content, want string }{
		"no YAML":       {"{", "config.yaml"},
		"a kind":        {"apiVersion: v1\nkind: Config\n", "has to be a Config of fairlead.dev/v1alpha1"},
		"unknown field": {head + "token: x\n", "token"},
		"twice":         {head + "contexts: [{name: a}, {name: a}]\n", `"a" is empty or there twice`},
		"no name":       {head + "contexts: [{flags: {}}]\n", `"" is empty or there twice`},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Read(file)
			if fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), file) {
				t.Errorf("got %v, want one with %q", err, c.want)
			}
		})
	}
}
