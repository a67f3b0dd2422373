package replicas

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// namespaceFile has the namespace of the pod that a process runs in.
// Source: Kubernetes, Accessing the Kubernetes API from a Pod.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// A Connection leads to the cluster in which replicas find each other.
type Connection struct {
	Leases    coordinationv1client.LeasesGetter
	Secrets   corev1client.SecretsGetter
	Namespace string // that the kubeconfig or the pod names
}

// Connect returns the connection to the cluster that the file kubeconfig leads
// to; empty is the cluster that this process runs in. Requests end in time for
// t. It connects with the first request.
func Connect(kubeconfig string, t Timing) (*Connection, error) {
	config, namespace, err := connect(kubeconfig)
	if errors.Is(err, rest.ErrNotInCluster) {
		err = errors.New("this process runs in no cluster: name a kubeconfig, as in --secrets kubernetes:FILE")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot elect a leader: %w", err)
	}
	config.UserAgent = "fairlead"
	config.QPS = -1
	config.Timeout = t.WithDefaults().Deadline / 2
	leases, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cannot elect a leader: %w", err)
	}
	secrets, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cannot elect a leader: %w", err)
	}
	return &Connection{Leases: leases, Secrets: secrets, Namespace: namespace}, nil
}

func connect(kubeconfig string) (*rest.Config, string, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, "", err
		}
		b, err := os.ReadFile(namespaceFile)
		return config, strings.TrimSpace(string(b)), err
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}, nil)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", err
	}
	namespace, _, err := loader.Namespace()
	return config, namespace, err
}

// NewIdentity returns an identity that no other process has: the name of the
// pod or machine, the address at which the other replicas reach it, and
// something random.
func NewIdentity(name, address string) string {
	return name + "_" + address + "_" + strings.ToLower(rand.Text()[:8])
}

// Address returns the address in an identity that NewIdentity made.
func Address(identity string) string {
	parts := strings.Split(identity, "_")
	if len(parts) < 3 {
		return ""
	}
	return parts[len(parts)-2]
}

// At returns the address in identity, with another port.
func At(identity, port string) string {
	address := Address(identity)
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	if address == "" {
		return ""
	}
	return net.JoinHostPort(strings.Trim(address, "[]"), port)
}
