package workload_test

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm/inside"
	"fairlead.dev/providers/workload"
)

// A cut connection breaks at its next read once something has happened.
type cut struct {
	net.Conn
	happened func() bool
}

func (c cut) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.happened() {
		_ = c.Close()
		return 0, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return n, err
}

// cutting returns a client whose connections break once happened is true.
func cutting(t *testing.T, happened func() bool) *workload.Client {
	c := workload.New(workload.Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return cut{conn, happened}, nil
	}})
	t.Cleanup(c.Close)
	return c
}

// A removal of a member whose answer is lost may have happened.
func TestLostAnswerOfRemovedMember(t *testing.T) {
	c := startEtcd(t)
	client := cutting(t, func() bool { return len(c.etcd.Members()) < 3 })
	err := inside.New(client).RemoveMember(t.Context(), c.access, 1<<63+2)
	if n := len(c.etcd.Members()); n != 2 || err == nil {
		t.Fatalf("%d members, error %v: want the member removed and the answer lost", n, err)
	}
	if k := fleet.KindOf(err); k != fleet.Unanswered {
		t.Errorf("kind %s (%v), want Unanswered", k, err)
	}
}

// A removal that was never sent cannot have happened, though the list of members was asked
// for through the same tunnel by the same method.
func TestRemovalThatWasNotSent(t *testing.T) {
	c := startEtcd(t)
	client := cutting(t, func() bool { return true })
	err := inside.New(client).RemoveMember(t.Context(), c.access, 1<<63+2)
	if k := fleet.KindOf(err); k != fleet.Unavailable {
		t.Errorf("kind %s (%v), want Unavailable", k, err)
	}
}

// answering returns an access whose reads are answered, and whose changes get the status
// that status returns, or no answer if it is 0.
func (c *cluster) answering(t *testing.T, status func() int) providers.Access {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(c.access.Kubeconfig.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(c.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	if proxy.Transport, err = rest.TransportFor(config); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			proxy.ServeHTTP(rw, r)
		case status() == 0:
			panic(http.ErrAbortHandler)
		default:
			http.Error(rw, "as it is told to", status())
		}
	}))
	t.Cleanup(s.Close)
	a := c.access
	trusted := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	a.Kubeconfig = c.ca.kubeconfig(t, s.URL, trusted, time.Now().Add(time.Hour))
	return a
}

// A change that was sent may have happened unless the API server refused it.
func TestChangesWithoutAnswer(t *testing.T) {
	set := fleet.ResourceSet{Name: "cni", Strategy: fleet.ReconcileStrategy, Resources: []fleet.Resource{
		manifestsIn(t, "net", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}"),
	}}
	calls := map[string]func(*testing.T, *workload.Client, providers.Access) error{
		"delete a Node": func(t *testing.T, c *workload.Client, a providers.Access) error {
			return c.DeleteNode(t.Context(), a, "w-1")
		},
		"drain a Node": func(t *testing.T, c *workload.Client, a providers.Access) error {
			return c.Drain(t.Context(), a, "w-1", nil)
		},
		"apply resources": func(t *testing.T, c *workload.Client, a providers.Access) error {
			return c.ApplyResources(t.Context(), a, set, []string{"ConfigMap/net"})
		},
	}
	c := start(t)
	c.put(t, node("w-1", corev1.ConditionTrue, nil))
	var answer atomic.Int64
	access := c.answering(t, func() int { return int(answer.Load()) })
	for name, call := range calls {
		for status, want := range map[int]fleet.ErrorKind{
			0: fleet.Unanswered, http.StatusInternalServerError: fleet.Unanswered, http.StatusGatewayTimeout: fleet.Unanswered,
			http.StatusTooManyRequests: fleet.Unavailable, http.StatusConflict: fleet.Conflict, http.StatusForbidden: fleet.Unauthorized,
		} {
			answer.Store(int64(status))
			if err := call(t, c.Client, access); fleet.KindOf(err) != want {
				t.Errorf("%s, answered %d: %v (kind %s), want kind %s", name, status, err, fleet.KindOf(err), want)
			}
		}
	}
}
