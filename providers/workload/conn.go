package workload

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// DialTimeout is how long one part of a call may take that asks several, one after the
// other: who does not answer is passed over.
const DialTimeout = dialTimeout

// A Conn is a connection to the API server of one cluster, for a distribution to ask what
// it knows to be there. Objects have the paths of their REST API. A request is sent once.
type Conn struct {
	client *Client
	key    fleet.Key
	n      *conn
}

// Call runs f with the connection to a's cluster, bounded in time. Its errors are those
// of package fleet, whatever f returns, and say that op could not be done.
func (c *Client) Call(ctx context.Context, a providers.Access, op string, f func(ctx context.Context, n *Conn) error) error {
	return c.call(ctx, a, op, func(ctx context.Context, n *conn) error {
		return f(ctx, &Conn{client: c, key: a.Cluster, n: n})
	})
}

// Now is the time of the agent.
func (n *Conn) Now() time.Time { return n.client.o.Now() }

// Ahead says how far the clock of the API server is ahead of the agent's, and whether
// that is known: it is once the API server has answered.
func (n *Conn) Ahead() (time.Duration, bool) { return n.n.clock.Ahead(), n.n.clock.known.Load() }

// Get reads an object.
func (n *Conn) Get(ctx context.Context, path string, into runtime.Object) error {
	return n.n.getAt(ctx, path, into)
}

// GetMetadata reads what each object has: its names, labels and annotations.
func (n *Conn) GetMetadata(ctx context.Context, path string, into *metav1.PartialObjectMetadata) error {
	data, err := n.n.rest.Get().MaxRetries(0).AbsPath(path).SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1").Do(ctx).Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// Delete deletes an object, unless it is another one than that which was read, and what depends on it afterwards.
func (n *Conn) Delete(ctx context.Context, path string, uid types.UID) error {
	background := metav1.DeletePropagationBackground
	o := &metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &uid}}
	return n.n.rest.Delete().MaxRetries(0).AbsPath(path).Body(o).Do(ctx).Error()
}

// GetCached reads an object, or all of a list that have the labels, where not empty, from
// the memory of the API server. It is for what leads to decisions that can be repeated.
func (n *Conn) GetCached(ctx context.Context, path, labels string, into runtime.Object) error {
	o := metav1.ListOptions{ResourceVersion: cached, LabelSelector: labels}
	return n.n.rest.Get().MaxRetries(0).AbsPath(path).VersionedParams(&o, scheme.ParameterCodec).Do(ctx).Into(into)
}

// GetSelected reads all of a list whose fields are as the selector says, as GetCached does.
func (n *Conn) GetSelected(ctx context.Context, path, fields string, into runtime.Object) error {
	o := metav1.ListOptions{ResourceVersion: cached, FieldSelector: fields}
	return n.n.rest.Get().MaxRetries(0).AbsPath(path).VersionedParams(&o, scheme.ParameterCodec).Do(ctx).Into(into)
}

// Version returns the version of the API server that answers: "v1.34.1".
func (n *Conn) Version(ctx context.Context) (string, error) {
	raw, err := n.n.rest.Get().MaxRetries(0).AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", err
	}
	var info struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.Unmarshal(raw, &info); err != nil {
		return "", err
	}
	return info.GitVersion, nil
}

// Create makes an object in the list at path.
func (n *Conn) Create(ctx context.Context, path string, obj runtime.Object) error {
	return n.n.createAt(ctx, path, obj)
}

// Patch sends a strategic merge patch, under Fairlead's name.
func (n *Conn) Patch(ctx context.Context, path string, patch map[string]any) error {
	return n.n.patchAt(ctx, path, patch)
}

// MergePatch sends a merge patch, under Fairlead's name.
func (n *Conn) MergePatch(ctx context.Context, path string, patch map[string]any) error {
	raw, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	o := metav1.PatchOptions{FieldManager: manager}
	return n.n.rest.Patch(types.MergePatchType).MaxRetries(0).AbsPath(path).
		VersionedParams(&o, scheme.ParameterCodec).Body(raw).Do(ctx).Error()
}

// DialPod connects to a port of a pod in kube-system, through the API server.
func (n *Conn) DialPod(ctx context.Context, pod string, port int) (net.Conn, error) {
	return n.n.dialPod(ctx, pod, port)
}

// Beside returns a client for another port of the host that the API server is at, 0: the
// same one, and the beginning of URLs there. It trusts what is trusted of API servers, goes
// the same way to them, and shows no certificate: the caller authenticates itself.
func (n *Conn) Beside(port int32) (*http.Client, string) {
	t := n.n.transport.Clone()
	t.TLSClientConfig.Certificates, t.TLSClientConfig.GetClientCertificate = nil, nil
	host := strings.TrimPrefix(n.n.config.Host, "https://")
	if port != 0 {
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		host = net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(int(port)))
	}
	return &http.Client{Transport: t}, "https://" + host
}

// Keep returns what a distribution keeps with the connection, which is what make returns
// for the first call. It is closed with the connection, and is safe for concurrent use.
func (n *Conn) Keep(make func() io.Closer) io.Closer {
	n.n.mu.Lock()
	defer n.n.mu.Unlock()
	if n.n.kept == nil {
		n.n.kept = make()
	}
	return n.n.kept
}

// Renew has the next call connect again: the API server behind the connection, one of
// maybe several, is no longer of use.
func (n *Conn) Renew() { n.client.leave(n.key, n.n) }
