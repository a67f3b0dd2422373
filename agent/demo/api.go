package demo

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet/documents"
)

// An api is a workload cluster's API server, as anybody with the kubeconfig
// reaches it.
type api struct {
	server string
	client *http.Client
}

// newAPI reads an administrator's kubeconfig.
func newAPI(kubeconfig []byte) (*api, error) {
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string `json:"server"`
				CA     []byte `json:"certificate-authority-data"`
			} `json:"cluster"`
		} `json:"clusters"`
		Users []struct {
			User struct {
				Cert []byte `json:"client-certificate-data"`
				Key  []byte `json:"client-key-data"`
			} `json:"user"`
		} `json:"users"`
	}
	if err := documents.Unmarshal(kubeconfig, &config, documents.DefaultLimits()); err != nil {
		return nil, fmt.Errorf("cannot read the kubeconfig: %w", err)
	}
	if len(config.Clusters) != 1 || len(config.Users) != 1 {
		return nil, errors.New("cannot read the kubeconfig: it is not of one cluster and one user")
	}
	cluster, user := config.Clusters[0].Cluster, config.Users[0].User
	pair, err := tls.X509KeyPair(user.Cert, user.Key)
	if err != nil {
		return nil, fmt.Errorf("cannot use the client certificate: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(cluster.CA) {
		return nil, errors.New("cannot use the certificate authority of the kubeconfig")
	}
	return &api{server: cluster.Server, client: &http.Client{
		Timeout: 3 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{
			Certificates: []tls.Certificate{pair}, RootCAs: pool, MinVersion: tls.VersionTLS12,
		}},
	}}, nil
}

// nodes lists the nodes of the cluster.
func (a *api) nodes(ctx context.Context) ([]corev1.Node, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server+"/api/v1/nodes", nil)
	if err != nil {
		return nil, err
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the API server answers %s", resp.Status)
	}
	var list corev1.NodeList
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return nil, err
	}
	return list.Items, nil
}

func ready(n corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
