package sdk_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"fairlead.dev/fleet"
)

// A repository serves charts over HTTPS with a certificate of its own, to whoever says
// robot and hunter2: below /charts with an index, and below /v2 as a registry.
type repository struct {
	*httptest.Server

	mu       sync.Mutex
	archives map[string][]byte // by "name version"
	asked    map[string]int    // by path
	spoil    bool              // what is served is not what the index says
}

func newRepository(t *testing.T) *repository {
	d := &repository{archives: map[string][]byte{}, asked: map[string]int{}}
	d.Server = httptest.NewTLSServer(http.HandlerFunc(d.serve))
	t.Cleanup(d.Close)
	return d
}

// put packs a chart of templates by their names.
func (d *repository) put(t *testing.T, name, version, metadata string, files map[string]string) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	add := func(file, text string) {
		if err := w.WriteHeader(&tar.Header{Name: name + "/" + file, Mode: 0o600, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	add("Chart.yaml", fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\n%s", name, version, metadata))
	for file, text := range files {
		add(file, text)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.archives[name+" "+version] = b.Bytes()
}

func digest(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

const helmConfig = "{}"

// manifest returns that of a chart in a registry.
func manifest(pack []byte) []byte {
	out, _ := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": map[string]any{"mediaType": "application/vnd.cncf.helm.config.v1+json", "digest": digest([]byte(helmConfig)), "size": len(helmConfig)},
		"layers": []any{map[string]any{"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "digest": digest(pack), "size": len(pack)}},
	})
	return out
}

func (d *repository) serve(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked[r.URL.Path]++
	if user, password, _ := r.BasicAuth(); user != "robot" || password != "hunter2" {
		w.Header().Set("WWW-Authenticate", `Basic realm="charts"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	if r.URL.Path == "/charts/index.yaml" {
		entries := map[string][]map[string]any{}
		for key, pack := range d.archives {
			name, version, _ := strings.Cut(key, " ")
			if d.spoil {
				pack = append([]byte("spoilt"), pack...)
			}
			entries[name] = append(entries[name], map[string]any{"version": version, "urls": []string{name + "-" + version + ".tgz"}, "digest": strings.TrimPrefix(digest(pack), "sha256:")})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "v1", "entries": entries})
		return
	}
	for key, pack := range d.archives {
		name, version, _ := strings.Cut(key, " ")
		switch m := manifest(pack); r.URL.Path {
		case "/charts/" + name + "-" + version + ".tgz", "/v2/charts/" + name + "/blobs/" + digest(pack):
			_, _ = w.Write(pack)
			return
		case "/v2/charts/" + name + "/manifests/" + strings.ReplaceAll(version, "+", "_"), "/v2/charts/" + name + "/manifests/" + digest(m):
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			w.Header().Set("Docker-Content-Digest", digest(m))
			_, _ = w.Write(m)
			return
		case "/v2/charts/" + name + "/blobs/" + digest([]byte(helmConfig)):
			_, _ = w.Write([]byte(helmConfig))
			return
		}
	}
	http.NotFound(w, r)
}

// times returns how often paths that end so were asked for.
func (d *repository) times(suffix string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for path, asked := range d.asked {
		if strings.HasSuffix(path, suffix) {
			n += asked
		}
	}
	return n
}

func (d *repository) host() string { return strings.TrimPrefix(d.URL, "https://") }

// access returns the credentials of the repository.
func (d *repository) access() fleet.ChartAccess {
	config := fmt.Sprintf(`{"auths": {%q: {"username": "robot", "password": "hunter2"}}}`, d.host())
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: d.Certificate().Raw})
	return fleet.ChartAccess{Credentials: fleet.NewSecret([]byte(config)), CA: fleet.NewSecret(ca)}
}
