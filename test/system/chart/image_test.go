package chart

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// makeTarget runs make in the root of the repository and returns what it prints.
func makeTarget(t *testing.T, args ...string) string {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "make", append([]string{"--no-print-directory"}, args...)...)
	cmd.Dir, cmd.Stderr = "../../..", &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("make %v: %v: %s", args, err, said.String())
	}
	return string(out)
}

// What make image-push pushes has, for both platforms, the agent, a user,
// certificates and time zones, nothing else to run, and beside it all that the
// agent is made of. make image makes the same of the same sources.
func TestImage(t *testing.T) {
	long(t)
	const name = "platform/released"
	pushed := makeTarget(t, "image-push", "IMAGE_REPO="+registry(t)+"/"+name, "VERSION="+version)
	digest := regexp.MustCompile(`@(sha256:[0-9a-f]{64})`).FindStringSubmatch(pushed)
	if digest == nil {
		t.Fatalf("image-push does not say what it pushed: %s", pushed)
	}
	layout := filepath.Join(t.TempDir(), "image")
	makeTarget(t, "image", "IMAGE_OUT="+layout, "VERSION="+version)
	index, err := os.ReadFile(filepath.Join(layout, "index.json"))
	if err != nil || !bytes.Contains(index, []byte(digest[1])) {
		t.Errorf("image-push pushed %s, image makes another one: %v: %s", digest[1], err, index)
	}
	if boms, err := filepath.Glob(layout + "-sbom/*.spdx.json"); err != nil || len(boms) < 2 {
		t.Errorf("beside the layout there are the SBOMs %v: %v", boms, err)
	}

	var all manifest
	fetch(t, name, "manifests", version, &all)
	if len(all.Manifests) != 2 {
		t.Errorf("the image has %d platforms: %+v", len(all.Manifests), all.Manifests)
	}
	for architecture, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		t.Run(architecture, func(t *testing.T) {
			img := pull(t, name, version, architecture, filepath.Join(t.TempDir(), "root"))
			contents(t, img, machine)
			for _, d := range all.Manifests {
				if d.Platform.Architecture == architecture {
					complete(t, img, sbom(t, name, d.Digest))
				}
			}
		})
	}
}

// contents checks what is in an image, and what it says of itself.
func contents(t *testing.T, img *image, machine elf.Machine) {
	t.Helper()
	if c := img.config; c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/ko-app/fairlead"}) ||
		c.Labels["org.opencontainers.image.version"] != version || c.Labels["org.opencontainers.image.revision"] == "" {
		t.Errorf("configured as %+v", c)
	}
	if !slices.Equal(img.runnable, []string{"/ko-app/fairlead"}) {
		t.Errorf("what can be run: %v, want the agent alone: no shell, no git", img.runnable)
	}
	program, err := elf.Open(filepath.Join(img.root, "ko-app/fairlead"))
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if libraries, err := program.ImportedLibraries(); program.Machine != machine || err != nil || len(libraries) > 0 {
		t.Errorf("the program is for %v and needs %v (%v), want one for %v that needs nothing", program.Machine, libraries, err, machine)
	}
	certificates, err := os.ReadFile(filepath.Join(img.root, "etc/ssl/certs/ca-certificates.crt"))
	if err != nil || bytes.Count(certificates, []byte("BEGIN CERTIFICATE")) < 100 {
		t.Errorf("%d certificates: %v", bytes.Count(certificates, []byte("BEGIN CERTIFICATE")), err)
	}
	if info, err := os.Stat(filepath.Join(img.root, "usr/share/zoneinfo.zip")); err != nil || info.Size() == 0 {
		t.Errorf("no time zones: %v", err)
	}
}

// sbom returns the SBOM that lies beside the image of that digest, where cosign
// looks for it.
func sbom(t *testing.T, name, digest string) []byte {
	t.Helper()
	var m manifest
	fetch(t, name, "manifests", strings.Replace(digest, ":", "-", 1)+".sbom", &m)
	if len(m.Layers) != 1 {
		t.Fatalf("the SBOM of %s has %d layers", digest, len(m.Layers))
	}
	return fetch(t, name, "blobs", m.Layers[0].Digest, nil)
}

// complete checks that an SBOM names each module that the program says it is made
// of, in its version.
func complete(t *testing.T, img *image, bom []byte) {
	t.Helper()
	var doc struct {
		SPDXVersion string `json:"spdxVersion"`
		Packages    []struct {
			ExternalRefs []struct{ ReferenceLocator string } `json:"externalRefs"`
		}
	}
	if err := json.Unmarshal(bom, &doc); err != nil || doc.SPDXVersion == "" {
		t.Fatalf("no SPDX: %v: %s", err, bom[:min(len(bom), 500)])
	}
	named := map[string]bool{}
	for _, p := range doc.Packages {
		for _, r := range p.ExternalRefs {
			locator, _, _ := strings.Cut(r.ReferenceLocator, "?")
			named[locator] = true
		}
	}
	info, err := buildinfo.ReadFile(filepath.Join(img.root, "ko-app/fairlead"))
	if err != nil || len(info.Deps) < 50 {
		t.Fatalf("the program does not say what it is made of: %v", err)
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if !named["pkg:golang/"+strings.ToLower(m.Path)+"@"+m.Version] { // a package URL has small letters
			t.Errorf("the SBOM lacks %s %s", m.Path, m.Version)
		}
	}
}
