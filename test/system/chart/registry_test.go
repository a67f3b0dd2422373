package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// repository is where the tests push the agent's image to, in their registry.
const repository = "platform/fairlead"

var (
	folder string // of what all tests share

	serves  sync.Mutex
	serving *exec.Cmd // the registry
	host    string    // of the registry

	pulls  sync.Mutex
	pulled = map[string]*image{} // by version
)

// TestMain is also the entry of a container: see enter.
func TestMain(m *testing.M) {
	if os.Getenv(enterVariable) != "" {
		fmt.Fprintln(os.Stderr, "cannot start the container:", enter())
		os.Exit(125)
	}
	var err error
	if folder, err = os.MkdirTemp("", "fairlead-chart-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if serving != nil {
		_ = serving.Process.Kill()
		_ = serving.Wait()
	}
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// registry returns the host of a registry on this machine, which the tests of
// this process share.
func registry(t *testing.T) string {
	t.Helper()
	crane := program(t, "crane")
	serves.Lock()
	defer serves.Unlock()
	if serving != nil {
		return host
	}
	said := &container{}
	cmd := exec.Command(crane, "registry", "serve", "--address", "127.0.0.1:0", "--disk", folder)
	cmd.Stderr = said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	serving = cmd
	eventually(t, "the registry says where it serves", func() bool {
		m := regexp.MustCompile(`serving on port (\d+)`).FindStringSubmatch(said.said())
		if m != nil {
			host = "127.0.0.1:" + m[1]
		}
		return m != nil
	})
	return host
}

// fetch reads what the registry has of a repository: kind is "manifests" or
// "blobs". It decodes JSON into v where that is not nil.
func fetch(t *testing.T, repository, kind, reference string, v any) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%s/v2/%s/%s/%s", registry(t), repository, kind, reference), nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v: %s", req.URL, res.Status, err, b[:min(len(b), 500)])
	}
	if v != nil {
		if err := json.Unmarshal(b, v); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

type descriptor struct {
	Digest   string
	Platform struct{ OS, Architecture string }
}

// An image is the image of one platform, unpacked.
type image struct {
	root   string // of its files
	config struct {
		User       string
		Env        []string
		Entrypoint []string
		Labels     map[string]string
	}
	runnable []string // files that can be run
}

// A manifest is that of an image, or of an index of images.
type manifest struct {
	Manifests []descriptor
	Config    descriptor
	Layers    []descriptor
}

// pull gets an image from the registry and unpacks it.
func pull(t *testing.T, repository, reference, architecture, to string) *image {
	t.Helper()
	var m manifest
	fetch(t, repository, "manifests", reference, &m)
	for _, d := range m.Manifests {
		if d.Platform.OS == "linux" && d.Platform.Architecture == architecture {
			fetch(t, repository, "manifests", d.Digest, &m)
		}
	}
	img := &image{root: to}
	var config struct {
		Architecture string
		Config       any
	}
	config.Config = &img.config
	fetch(t, repository, "blobs", m.Config.Digest, &config)
	if config.Architecture != architecture {
		t.Fatalf("%s:%s is for %q, not for %s", repository, reference, config.Architecture, architecture)
	}
	for _, l := range m.Layers {
		img.runnable = append(img.runnable, unpack(t, fetch(t, repository, "blobs", l.Digest, nil), to)...)
	}
	return img
}

// agentImage returns the agent's image of that version for this machine, as it
// comes out of the registry; it is built and pushed once.
func agentImage(t *testing.T, version string) *image {
	t.Helper()
	at, ko := registry(t), program(t, "ko")
	pulls.Lock()
	defer pulls.Unlock()
	if img := pulled[version]; img != nil {
		return img
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "./image", "-ko", ko, "-root", "../../..",
		"-platforms", "linux/"+runtime.GOARCH, "-version", version, "-created", "1700000000", "-push", at+"/"+repository)
	cmd.Dir = "../../../tools/release"
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	img := pull(t, repository, version, runtime.GOARCH, filepath.Join(folder, version))
	pulled[version] = img
	return img
}

// unpack unpacks a layer below root, with the owners and modes that it has where
// the test may, and returns what in it can be run.
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
			put(t, root, h.Name, content, 0o600)
			if h.Mode&0o111 != 0 {
				runnable = append(runnable, "/"+strings.TrimPrefix(h.Name, "/"))
			}
		default:
			t.Errorf("%s is neither file nor folder", h.Name)
			continue
		}
		if os.Getuid() == 0 {
			if err := os.Chown(path, h.Uid, h.Gid); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(path, h.FileInfo().Mode()); err != nil {
			t.Fatal(err)
		}
	}
}
