package awstest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"slices"
	"strings"

	"fairlead.dev/fleet/documents"
)

// A NodeConfig is what nodeadm reads of user data, as far as the double looks at it.
type NodeConfig struct {
	APIVersion, Kind string
	Spec             struct {
		Cluster struct {
			Name                 string
			APIServerEndpoint    string
			CertificateAuthority string
			CIDR                 string
		}
		Kubelet struct {
			Config map[string]any
			Flags  []string
		}
	}
}

// Joined returns why an instance is no Node of a cluster of EKS, as nodeadm on it and EKS would have it; nil: it is one.
func (c *Cloud) Joined(id string) error {
	i, ok := c.Thing(id)
	if !ok {
		return fmt.Errorf("there is no instance %s", id)
	}
	data, err := base64.StdEncoding.DecodeString(i.Attr["userData"])
	if err != nil {
		return err
	}
	config, err := ReadNodeConfig(data)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	has := &config.Spec.Cluster
	k := c.find(ManagedClusters, "name", has.Name)
	if k == nil {
		return fmt.Errorf("there is no cluster %q", has.Name)
	}
	shown := c.shownCluster(k)
	role := "arn:aws:iam::" + c.o.Account + ":role/" + i.Attr["profile"]
	entry := slices.ContainsFunc(c.all(AccessEntries), func(e *Thing) bool {
		return e.Attr["cluster"] == has.Name && e.Attr["principal"] == role && e.Attr["type"] == "EC2_LINUX"
	})
	switch {
	case config.APIVersion != "node.eks.aws/v1alpha1" || config.Kind != "NodeConfig":
		return fmt.Errorf("nodeadm reads no %s of %s", config.Kind, config.APIVersion)
	case has.APIServerEndpoint != shown["endpoint"]:
		return fmt.Errorf("the API server is not at %q", has.APIServerEndpoint)
	case !sameCA(has.CertificateAuthority, shown["certificateAuthority"]):
		return fmt.Errorf("the certificate is not that of the cluster")
	case has.CIDR != k.Attr["services"]:
		return fmt.Errorf("the addresses of Services are not in %q", has.CIDR)
	case !slices.Contains(i.Sets["groups"], k.Attr["group"]):
		return fmt.Errorf("it is not in the security group of the cluster, but in %q", i.Sets["groups"])
	case i.Attr["vpcId"] != k.Attr["vpcId"]:
		return fmt.Errorf("it is in another network: %s", i.Attr["vpcId"])
	case !entry:
		return fmt.Errorf("no access entry of type EC2_LINUX lets in %s", role)
	}
	return nil
}

func sameCA(text string, shown any) bool {
	m, _ := shown.(map[string]any)
	want, _ := m["data"].(string)
	a, err := base64.StdEncoding.DecodeString(text)
	b, wrong := base64.StdEncoding.DecodeString(want)
	return err == nil && wrong == nil && bytes.Equal(bytes.TrimSpace(a), bytes.TrimSpace(b))
}

// ReadNodeConfig reads user data as nodeadm does: a part of it is a NodeConfig.
func ReadNodeConfig(data []byte) (*NodeConfig, error) {
	message, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("the user data is no MIME: %w", err)
	}
	kind, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "multipart/") {
		return nil, fmt.Errorf("the user data is %q, %w", kind, err)
	}
	for r := multipart.NewReader(message.Body, params["boundary"]); ; {
		part, err := r.NextPart()
		if err != nil {
			return nil, fmt.Errorf("the user data has no NodeConfig: %w", err)
		}
		if part.Header.Get("Content-Type") != "application/node.eks.aws" {
			continue
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		var out NodeConfig
		return &out, documents.Unmarshal(text, &out, documents.AddonLimits())
	}
}
