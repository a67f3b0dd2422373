package vm

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	diskfs "github.com/diskfs/go-diskfs"
)

// TestSeed: the disk has the label and the names that cloud-init looks for.
func TestSeed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seed.iso")
	want := map[string]string{"user-data": "#cloud-config\n", "meta-data": "instance-id: a\n", "network-config": "version: 2\n"}
	s := seed{userData: []byte(want["user-data"]), metaData: []byte(want["meta-data"]), networkConfig: []byte(want["network-config"])}
	if err := s.write(path); err != nil {
		t.Fatal(err)
	}
	disk, err := diskfs.Open(path, diskfs.WithOpenMode(diskfs.ReadOnly))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = disk.Close() }()
	iso, err := disk.GetFilesystem(0)
	if err != nil {
		t.Fatal(err)
	}
	if label := strings.TrimRight(iso.Label(), "\x00 "); label != "cidata" {
		t.Errorf("its label is %q, want cidata", label)
	}
	for name, text := range want {
		f, err := iso.OpenFile("/"+name, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		if err != nil || string(got) != text {
			t.Errorf("%s is %q, want %q; %v", name, got, text, err)
		}
	}
}
