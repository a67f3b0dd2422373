package hostile

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/agent/inputs/webhook"
	"fairlead.dev/agent/secrets/escrow"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/hosts/host"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/workload/helm/sdk"
	"fairlead.dev/sources/status"
)

const (
	header     = "apiVersion: fairlead.dev/v1alpha1\nkind: "
	goodReport = header + "ClusterReport\nmetadata: {namespace: prod, name: eu-1}\n"
	goodOwner  = header + "Owner\nagent: a\nepoch: 1\n"
	goodScale  = header + "Scale\ncluster: prod/eu-1\npool: md-0\nreplicas: 3\n"
	goodWish   = header + "Request\nwish: suspend\ncluster: prod/eu-1\nby: me\nat: '2026-01-01T00:00:00Z'\n"
)

// statusBranch puts text into file of a status branch with one good file of each kind, and
// returns what is wrong; others reports whether all the others are read.
func statusBranch(t *testing.T, file, text string) (problem error, others bool) {
	t.Helper()
	files := map[string]string{
		"clusters/prod/eu-1.yaml": goodReport, "owner.yaml": goodOwner,
		"scales/prod/eu-1/md-0.yaml": goodScale, "requests/prod/eu-1/suspend.yaml": goodWish,
	}
	files[file] = text
	b := branch{treeOf(files)}
	s, err := status.Read(b.tree)
	requests, errRequests := status.NewRequests(b).List(t.Context())
	scales, errScales := status.NewScales(b).List(t.Context())
	for _, e := range []error{s.Whole(), errRequests, errScales} {
		if err == nil {
			err = e
		}
	}
	others = len(s.Clusters) == 1 && (s.Owner.Agent == "a" || file == "owner.yaml") && len(requests) == 1 && len(scales) == 1
	return err, others
}

// escrowIndex opens an escrow whose index is text.
func escrowIndex(t *testing.T, text string) error {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := escrow.Open(t.Context(), escrow.Folder(dir), fleet.Secret{})
	return err
}

// pack returns the chart note 1.0.0 with these values.
func pack(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: "note/" + name, Mode: 0o600, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	goodChart = "apiVersion: v2\nname: note\nversion: 1.0.0\n"
	goodIndex = "apiVersion: v1\nentries:\n  note:\n  - version: 1.0.0\n    urls: [note.tgz]\n"
)

// chartRepository has a chart fetched from a repository with this index and chart, and then
// one from a good repository beside it.
func chartRepository(t *testing.T, index string, chart []byte) (problem error, others bool) {
	t.Helper()
	good := pack(t, map[string]string{"Chart.yaml": goodChart})
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := map[string][]byte{
			"/bad/index.yaml": []byte(index), "/bad/note.tgz": chart, "/good/index.yaml": []byte(goodIndex), "/good/note.tgz": good,
		}[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(body)
	}))
	defer s.Close()
	access := fleet.ChartAccess{CA: fleet.NewSecret(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))}
	l := new(sdk.ChartCache)
	_, err := l.Chart(t.Context(), fleet.Chart{Repository: s.URL + "/bad", Name: "note", Version: "1.0.0"}, access)
	_, errGood := l.Chart(t.Context(), fleet.Chart{Repository: s.URL + "/good", Name: "note", Version: "1.0.0"}, access)
	return err, errGood == nil
}

// kubeconfig has a kubeconfig looked at.
func kubeconfig(text string) error {
	_, err := kubeadm.Distribution{}.InspectKubeconfig(fleet.SecretData{fleet.KubeconfigKey: fleet.NewSecret([]byte(text))})
	return err
}

// credentials opens an OpenStack project with a clouds.yaml.
func credentials(text string) error {
	_, err := cloud.NewSessions(cloud.Options{}).Project(openstackauth.Credential{
		Secret: fleet.SecretData{openstackauth.CloudsYAMLKey: fleet.NewSecret([]byte(text))}, Cloud: "a", From: "Secret prod/cloud-config",
	})
	return err
}

// hostSays has the answer of a host read, with a good note after line; what is wrong with
// the claim is the problem.
func hostSays(line string) (problem error, others bool) {
	const note = `note {"id":"0123456789abcdef","pool":"p","host":"h","tags":{"fairlead.dev/fleet":"f","fairlead.dev/cluster":"prod/eu-1"}}`
	s, err := host.Parse([]byte("begin\nboot 1\n" + note + "\n" + line + "\n" + note + "\nend\n"))
	if err != nil {
		return err, true
	}
	others = len(s.Notes) == 2 || len(s.Notes) == 0
	switch {
	case !s.Claimed:
		return nil, others
	case s.Claim == nil:
		return fmt.Errorf("the claim is not Fairlead's"), others
	}
	if damage := s.Claim.Damage(); damage != "" {
		return fmt.Errorf("%s", damage), others
	}
	return nil, others
}

const webhookSecret = "0123456789abcdef0123456789abcdef"

// call sends body to the webhook of GitHub as who knows the secret, and then a good push.
func call(t *testing.T, body string, genuine bool) (problem error, others bool) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "github")
	if err := os.WriteFile(file, []byte(webhookSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets, err := webhook.NewSecrets([]string{"github=" + file}, "")
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	h := webhook.New(webhook.Options{Secrets: secrets, Trigger: func() { told++ }, Log: slog.New(slog.DiscardHandler)})
	send := func(body, id string, genuine bool) *httptest.ResponseRecorder {
		key := webhookSecret
		if !genuine {
			key = "guess"
		}
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(body))
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, webhook.Prefix+"github", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-GitHub-Event", "push")
		r.Header.Set("X-GitHub-Delivery", id)
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	w := send(body, "1", genuine)
	if w.Code >= 400 {
		problem = fmt.Errorf("%s", strings.TrimSpace(w.Body.String()))
	}
	before := told
	send(`{"ref":"refs/heads/main","repository":{"full_name":"a/b"}}`, "2", true)
	return problem, told == before+1
}
