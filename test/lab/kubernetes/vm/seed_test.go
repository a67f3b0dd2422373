package vm

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"fairlead.dev/test/run/needs"
)

// TestSeed: the disk has the label and the names that cloud-init looks for.
func TestSeed(t *testing.T) {
	needs.Program(t, maker, "apt-get install xorriso")
	dir := t.TempDir()
	path := filepath.Join(dir, "seed.iso")
	want := map[string]string{"user-data": "#cloud-config\n", "meta-data": "instance-id: a\n", "network-config": "version: 2\n"}
	s := seed{userData: []byte(want["user-data"]), metaData: []byte(want["meta-data"]), networkConfig: []byte(want["network-config"])}
	if err := s.write(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	disk, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The first volume descriptor: an identifier, and the label from its byte 40 on.
	// Source: ECMA-119, 8.4.
	if volume := disk[16*2048:]; string(volume[1:6]) != "CD001" || string(bytes.TrimRight(volume[40:72], " ")) != "cidata" {
		t.Errorf("it is a volume %q with the label %q, want CD001 and cidata", volume[1:6], volume[40:72])
	}
	if out, err := exec.CommandContext(t.Context(), maker, "-osirrox", "on", "-indev", path, "-extract", "/", filepath.Join(dir, "read")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(dir, "read", name))
		if err != nil || string(got) != text {
			t.Errorf("%s is %q, want %q; %v", name, got, text, err)
		}
	}
}
