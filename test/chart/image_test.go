package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

const created = "1700000000"

// buildImage builds the image of one platform and returns its OCI layout.
func buildImage(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "image")
	cmd := exec.CommandContext(t.Context(), "go", "run", "./image", "-ko", program(t, "ko"), "-root", "../..",
		"-platforms", "linux/amd64", "-version", "v1.2.3", "-revision", "1a2b3c4", "-created", created, "-out", out)
	cmd.Dir = "../../tools/release"
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return out
}

// blob reads a blob of a layout, as JSON where v is not nil.
func blob(t *testing.T, layout, digest string, v any) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(layout, "blobs", strings.Replace(digest, ":", "/", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if v != nil {
		if err := json.Unmarshal(b, v); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

type descriptor struct {
	Digest    string
	MediaType string
}

// The image has the agent, a user, certificates and time zones, nothing else to
// run, and is the same for the same sources.
func TestImage(t *testing.T) {
	long(t)
	layout := buildImage(t)
	var index struct{ Manifests []descriptor }
	b, err := os.ReadFile(filepath.Join(layout, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &index); err != nil || len(index.Manifests) != 1 {
		t.Fatalf("%v: %s", err, b)
	}
	again, err := os.ReadFile(filepath.Join(buildImage(t), "index.json"))
	if err != nil || string(again) != string(b) {
		t.Errorf("the second image is another one: %v\n%s\n%s", err, b, again)
	}

	var manifest struct {
		Manifests []descriptor // of an index
		Config    descriptor
		Layers    []descriptor
	}
	blob(t, layout, index.Manifests[0].Digest, &manifest)
	if len(manifest.Manifests) > 0 {
		blob(t, layout, manifest.Manifests[0].Digest, &manifest)
	}
	var config struct {
		Config struct {
			User       string
			Env        []string
			Entrypoint []string
			Labels     map[string]string
		}
	}
	blob(t, layout, manifest.Config.Digest, &config)
	if c := config.Config; c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/ko-app/fairlead"}) ||
		c.Labels["org.opencontainers.image.version"] != "v1.2.3" || c.Labels["org.opencontainers.image.revision"] != "1a2b3c4" {
		t.Errorf("configured as %+v", c)
	}

	root := filepath.Join(t.TempDir(), "root")
	var runnable []string
	for _, l := range manifest.Layers {
		runnable = append(runnable, unpack(t, blob(t, layout, l.Digest, nil), root)...)
	}
	if !slices.Equal(runnable, []string{"/ko-app/fairlead"}) {
		t.Errorf("what can be run: %v, want the agent alone: no shell, no git", runnable)
	}
	certificates, err := os.ReadFile(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"))
	if err != nil || bytes.Count(certificates, []byte("BEGIN CERTIFICATE")) < 100 {
		t.Errorf("%d certificates: %v", bytes.Count(certificates, []byte("BEGIN CERTIFICATE")), err)
	}

	boms, err := filepath.Glob(layout + "-sbom/*.spdx.json")
	if err != nil || len(boms) == 0 {
		t.Fatalf("no SBOM: %v", err)
	}
	sbom, err := os.ReadFile(boms[0])
	if err != nil || !bytes.Contains(sbom, []byte(`"spdxVersion"`)) || !bytes.Contains(sbom, []byte("github.com/go-git/go-git/v5")) {
		t.Errorf("the SBOM names no dependency: %v", err)
	}

	if os.Getuid() != 0 {
		t.Skip("only root can run it in its own root")
	}
	cmd := exec.CommandContext(t.Context(), "/ko-app/fairlead", "version")
	cmd.Env, cmd.Dir = config.Config.Env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "v1.2.3") {
		t.Errorf("fairlead version in the image: %v: %s", err, out)
	}
}

// unpack unpacks a layer below root and returns what in it can be run.
func unpack(t *testing.T, layer []byte, root string) (runnable []string) {
	t.Helper()
	var r io.Reader = bytes.NewReader(layer)
	if z, err := gzip.NewReader(bytes.NewReader(layer)); err == nil {
		r = z
	}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return runnable
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, h.Name)
		switch h.Typeflag {
		case tar.TypeDir:
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
		case tar.TypeReg:
			content, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}
			put(t, root, h.Name, content, 0o755)
			if h.Mode&0o111 != 0 {
				runnable = append(runnable, filepath.Join("/", h.Name))
			}
		default:
			t.Errorf("%s is neither file nor folder", h.Name)
		}
	}
}
