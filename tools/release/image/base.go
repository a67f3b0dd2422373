package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is who the agent runs as. The number is that of distroless images, which
// clusters have rules for.
const user = 65532

// authorities is where Debian's package ca-certificates keeps what Mozilla
// trusts; what the machine itself trusts besides is none of the image's business.
const authorities = "/usr/share/ca-certificates/mozilla"

// baseIndex returns the base image for the platforms, such as linux/arm64.
func baseIndex(platforms []string) (v1.ImageIndex, error) {
	content, err := baseLayer()
	if err != nil {
		return nil, fmt.Errorf("cannot make the base: %w", err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		system, architecture, ok := strings.Cut(p, "/")
		if !ok {
			return nil, fmt.Errorf("%q is no platform: write it like linux/arm64", p)
		}
		img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
		if img, err = mutate.AppendLayers(img, layer); err != nil {
			return nil, err
		}
		config, err := img.ConfigFile()
		if err != nil {
			return nil, err
		}
		config = config.DeepCopy()
		config.OS, config.Architecture = system, architecture
		config.Config.User = fmt.Sprintf("%d:%d", user, user)
		config.Config.WorkingDir = "/home/nonroot"
		config.Config.Env = []string{"SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt", "ZONEINFO=/usr/share/zoneinfo.zip", "HOME=/home/nonroot"}
		if img, err = mutate.ConfigFile(img, config); err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: system, Architecture: architecture}},
		})
	}
	return index, nil
}

// baseLayer returns the tar of all that is below the agent.
func baseLayer() ([]byte, error) {
	certificates, err := certificates()
	if err != nil {
		return nil, err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	zones, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range []struct {
		name    string // of a folder where it ends with /
		mode    int64
		owner   int
		content []byte
	}{
		{"etc/", 0o755, 0, nil},
		{"etc/group", 0o644, 0, fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", user)},
		{"etc/nsswitch.conf", 0o644, 0, []byte("hosts: files dns\n")},
		{"etc/passwd", 0o644, 0, fmt.Appendf(nil, "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:%d:%d:nonroot:/home/nonroot:/sbin/nologin\n", user, user)},
		{"etc/ssl/", 0o755, 0, nil},
		{"etc/ssl/certs/", 0o755, 0, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, 0, certificates},
		{"home/", 0o755, 0, nil},
		{"home/nonroot/", 0o700, user, nil},
		{"tmp/", 0o1777, 0, nil},
		{"usr/", 0o755, 0, nil},
		{"usr/share/", 0o755, 0, nil},
		{"usr/share/zoneinfo.zip", 0o644, 0, zones},
	} {
		h := &tar.Header{Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.content)), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), w.Close()
}

// certificates returns the CA certificates that Mozilla trusts, PEM, in one order.
func certificates() ([]byte, error) {
	files, err := filepath.Glob(authorities + "/*.crt")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is nothing in %s: apt-get install ca-certificates", authorities)
	}
	slices.Sort(files)
	var all []byte
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		all = append(append(all, bytes.TrimSpace(b)...), '\n')
	}
	return all, nil
}
