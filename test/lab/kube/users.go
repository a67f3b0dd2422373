package kube

import (
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// administrators may do everything.
const administrators = "system:masters"

// user returns how the user of that name and groups connects.
func (s *server) user(name string, groups ...string) (*rest.Config, error) {
	cert, key, err := s.ca.issue(name, groups)
	if err != nil {
		return nil, err
	}
	c := s.anonymous()
	c.CertData, c.KeyData = cert, key
	return c, nil
}

// anonymous returns how somebody without credentials connects.
func (s *server) anonymous() *rest.Config {
	return &rest.Config{
		Host: s.host, QPS: -1, // the test is the only client
		TLSClientConfig: rest.TLSClientConfig{CAData: s.ca.pem},
	}
}

// writeKubeconfig writes c to a file.
func writeKubeconfig(path string, c *rest.Config) error {
	const name = "test"
	return clientcmd.WriteToFile(api.Config{
		Clusters:       map[string]*api.Cluster{name: {Server: c.Host, CertificateAuthorityData: c.CAData}},
		AuthInfos:      map[string]*api.AuthInfo{name: {ClientCertificateData: c.CertData, ClientKeyData: c.KeyData, Token: c.BearerToken}},
		Contexts:       map[string]*api.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}, path)
}
