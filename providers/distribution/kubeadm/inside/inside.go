package inside

import (
	"io"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"fairlead.dev/providers/workload"
)

// A Client asks clusters that kubeadm made. It is safe for concurrent use.
type Client struct{ clusters *workload.Client }

// New returns a Client that reaches clusters through c.
func New(c *workload.Client) *Client { return &Client{c} }

// kept is stored with the connection to a cluster.
type kept struct {
	mu     sync.Mutex
	etcd   *etcdClient
	expire map[string]expiry // of the certificates of API servers, by node
}

func keptOf(n *workload.Conn) *kept {
	return n.Keep(func() io.Closer { return &kept{} }).(*kept) //nolint:forcetypeassert // nothing else is kept for this kind of cluster
}

// Close implements io.Closer.
func (k *kept) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.etcd != nil {
		k.etcd.close()
		k.etcd = nil
	}
	return nil
}

// gone returns err, but for that there is nothing.
func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
