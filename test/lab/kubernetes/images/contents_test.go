package images

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/test/run/needs"
)

// A program comes with its loader and all libraries of it, also those of
// libraries, and links of the root filesystem are followed within it.
func TestDynamic(t *testing.T) {
	cc := needs.Program(t, "gcc", "apt-get install gcc")
	root := t.TempDir()
	libs := filepath.Join(root, "usr/lib/x86_64-linux-gnu")
	for _, dir := range []string{libs, filepath.Join(root, "usr/lib64"), filepath.Join(root, "usr/bin")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	build := func(source string, args ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), cc, append(args, "-nostdlib", "-x", "c", "-", "-L"+libs)...)
		if i := len(args) - 1; i > 0 && strings.HasPrefix(args[i], "-l") {
			c = exec.CommandContext(t.Context(), cc, append(args[:i:i], "-nostdlib", "-x", "c", "-", "-L"+libs, "-Wl,--allow-shlib-undefined", args[i])...)
		}
		c.Stdin = strings.NewReader(source)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	build("int b(void) { return 1; }", "-shared", "-fPIC", "-Wl,-soname,libb.so", "-o", filepath.Join(libs, "libb.so"))
	build("int b(void); int a(void) { return b(); }", "-shared", "-fPIC", "-Wl,-soname,liba.so", "-o", filepath.Join(libs, "liba.so"), "-lb")
	build("int a(void); void _start(void) { a(); }", "-o", filepath.Join(root, "usr/bin/program"), "-la")
	build("int l(void) { return 1; }", "-shared", "-fPIC", "-o", filepath.Join(libs, "ld-linux-x86-64.so.2"))
	if err := os.Symlink("/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", filepath.Join(root, "usr/lib64/ld-linux-x86-64.so.2")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("usr/lib", filepath.Join(root, "lib")); err != nil {
		t.Fatal(err)
	}

	i := image{files: map[string]string{}}
	if err := (&maker{rootfs: root}).addDynamic(&i, "usr/bin/program"); err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]string{
		"usr/bin/program":                  "usr/bin/program",
		"usr/lib/x86_64-linux-gnu/liba.so": "usr/lib/x86_64-linux-gnu/liba.so",
		"usr/lib/x86_64-linux-gnu/libb.so": "usr/lib/x86_64-linux-gnu/libb.so",
		"usr/lib64/ld-linux-x86-64.so.2":   "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
	} {
		if want := filepath.Join(root, from); i.files[name] != want {
			t.Errorf("%s comes from %q, want %q", name, i.files[name], want)
		}
	}
	if err := os.Remove(filepath.Join(libs, "libb.so")); err != nil {
		t.Fatal(err)
	}
	i = image{files: map[string]string{}}
	if err := (&maker{rootfs: root}).addDynamic(&i, "usr/bin/program"); err == nil || !strings.Contains(err.Error(), "liba.so needs libb.so") {
		t.Errorf("a library that there is not: %v", err)
	}
}
