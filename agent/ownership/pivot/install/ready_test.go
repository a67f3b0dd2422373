package install_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fairlead.dev/agent/ownership/pivot/install"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/workload/helm"
	"fairlead.dev/providers/workload/helm/sdk"
)

// The list of an API server that starts, cut after the first few checks.
const list = `[+]ping ok
[+]etcd ok
[-]informer-sync failed: reason withheld
[+]poststarthook/storage-readiness ok
[-]poststarthook/rbac/bootstrap-roles failed: reason withheld
[-]poststarthook/start-service-ip-repair-controllers failed: reason withheld
[-]autoregister-completion failed: reason withheld
readyz check failed
`

// The error says in one line what an API server that starts waits for.
func TestCheckReadyWhileAServerStarts(t *testing.T) {
	says, code := "ok", http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		fmt.Fprint(w, says)
	}))
	t.Cleanup(s.Close)
	config := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: home\nclusters: [{name: home, cluster: {server: %s}}]\n"+
		"contexts: [{name: home, context: {cluster: home}}]\n", s.URL)
	h, err := install.Open(install.Options{Helm: sdk.New(), Kubeconfig: fleet.NewSecret([]byte(config)), Release: helm.Release{Namespace: "fairlead-system", Name: "fairlead"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.CheckReady(t.Context()); err != nil {
		t.Errorf("it answers: %v", err)
	}
	says, code = list, http.StatusInternalServerError
	err = h.CheckReady(t.Context())
	const want = "it is not ready: informer-sync, poststarthook/rbac/bootstrap-roles, poststarthook/start-service-ip-repair-controllers and 1 more"
	if fleet.KindOf(err) != fleet.Unavailable || !strings.HasSuffix(fmt.Sprint(err), want) {
		t.Errorf("got %v, want … %s", err, want)
	}
}

// TestWithoutHelm: a program that was built without Helm opens no home.
func TestWithoutHelm(t *testing.T) {
	_, err := install.Open(install.Options{Kubeconfig: fleet.NewSecret([]byte("apiVersion: v1\nkind: Config\ncurrent-context: home\nclusters: [{name: home, cluster: {server: https://127.0.0.1:1}}]\ncontexts: [{name: home, context: {cluster: home}}]\n"))})
	if fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), "built without Helm") {
		t.Errorf("got %v", err)
	}
}
