package azure

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// Agent says which credentials of the agent's own machine clusters may use. By default they use none.
type Agent struct {
	TokenFile string `setting:"workload-identity-token" usage:"'FILE' with the token of the workload identity of the agent, for AzureClusterIdentities of type WorkloadIdentity (default: they are refused)"`
	Machine   bool   `setting:"managed-identity" usage:"let AzureClusterIdentities of type UserAssignedMSI use the managed identities of the machine that the agent is on: true or false"`
	Files     string `setting:"credential-files" usage:"'FOLDER' that holds the files of certPath and userAssignedIdentityCredentialsPath of AzureClusterIdentities (default: both are refused)"`
}

// longestFile bounds a file with a credential.
const longestFile = 1 << 20

// credential returns that of the identity in o, for a cloud with these hosts.
func (p *Provider) credential(ctx context.Context, o fleet.Object, id *api.AzureClusterIdentitySpec, env api.Environment) (arm.Credential, error) {
	c := arm.Credential{Manager: env.Manager, Login: env.Login, Tenant: id.TenantID, ID: id.ClientID}
	op := "read " + api.IdentityKind + " " + o.Name
	refuse := func(setting, value string) error {
		return fleet.Errorf(fleet.Unauthorized, op, "the agent does not allow what type %s uses of its machine (start it with --%s-%s %s)", id.Type, api.ProviderName, setting, value)
	}
	switch id.Type {
	case api.WorkloadIdentity:
		if c.TokenFile = p.o.Agent.TokenFile; c.TokenFile == "" {
			return c, refuse("workload-identity-token", "FILE")
		}
		return c, nil
	case api.ManagedIdentity:
		if c.Machine = p.o.Agent.Machine; !c.Machine {
			return c, refuse("managed-identity", "true")
		}
		return c, nil
	case api.IdentityCredential:
		if p.o.Agent.Files == "" {
			return c, refuse("credential-files", "FOLDER")
		}
		return c, p.identityFile(op, id, env, &c)
	case api.Certificate:
		if id.CertPath != "" && p.o.Agent.Files == "" {
			return c, refuse("credential-files", "FOLDER")
		}
		if id.CertPath != "" {
			data, err := p.file(id.CertPath)
			c.Certificate = string(data)
			return c, certificate(op, "certPath "+id.CertPath, c.Certificate, err)
		}
	}
	k := id.SecretOf(o.Namespace)
	data, err := p.secrets.Find(ctx, k, o.Secrets)
	if err != nil {
		return c, err
	}
	text := string(data[api.SecretKey].Reveal())
	switch {
	case text == "":
		return c, fleet.Errorf(fleet.Unauthorized, op, "Secret %s has no key %s", k, api.SecretKey)
	case id.Type == api.Certificate:
		c.Certificate = text
		return c, certificate(op, fmt.Sprintf("key %s of Secret %s", api.SecretKey, k), text, nil)
	}
	c.Password = text
	return c, nil
}

// certificate says that text, which is at a place, is no certificate with its key, or why it could not be read.
func certificate(op, at, text string, err error) error {
	if err == nil {
		err = arm.CheckCertificate([]byte(text))
	}
	if err != nil {
		return fleet.Errorf(fleet.Unauthorized, op, "%s: %w", at, err)
	}
	return nil
}

// file reads a file of the agent's machine in the folder that the agent allows. Links may not lead out of it.
func (p *Provider) file(path string) ([]byte, error) {
	folder := p.o.Agent.Files
	name, err := filepath.Rel(folder, path)
	if err != nil || !filepath.IsLocal(name) {
		return nil, fmt.Errorf("is not in %s, which the agent allows", folder)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, longestFile))
}

// identityFile fills in c from the file of a UserAssignedIdentityCredential.
// Source: github.com/Azure/msi-dataplane, UserAssignedIdentityCredentials.
func (p *Provider) identityFile(op string, id *api.AzureClusterIdentitySpec, env api.Environment, c *arm.Credential) error {
	path := id.CredentialsPath
	wrong := func(format string, args ...any) error {
		return fleet.Errorf(fleet.Unauthorized, op, "userAssignedIdentityCredentialsPath %s: %w", path, fmt.Errorf(format, args...))
	}
	if id.CredentialsCloudType != env.CloudType {
		return wrong("userAssignedIdentityCredentialsCloudType is %s, and the cluster is in %s", id.CredentialsCloudType, env.CloudType)
	}
	data, err := p.file(path)
	if err != nil {
		return wrong("%w", err)
	}
	var in struct {
		Endpoint string `json:"authentication_endpoint"`
		ClientID string `json:"client_id"`
		Secret   string `json:"client_secret"`
		TenantID string `json:"tenant_id"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return wrong("it is no JSON")
	}
	if !strings.EqualFold(in.ClientID, id.ClientID) || !strings.EqualFold(in.TenantID, id.TenantID) {
		return wrong("it is of client %q in tenant %q, and the %s is not (correct clientID and tenantID)", in.ClientID, in.TenantID, api.IdentityKind)
	}
	if in.Endpoint != "" {
		at, err := url.Parse(in.Endpoint)
		if err != nil || at.Scheme != "https" || at.Host == "" || strings.Trim(at.Path, "/") != "" {
			return wrong("authentication_endpoint is no https://HOST")
		}
		c.Login = at.Host
	}
	pfx, err := base64.StdEncoding.DecodeString(in.Secret)
	if err != nil {
		return wrong("client_secret is no base64")
	}
	c.Certificate, c.Chain = string(pfx), true
	return certificate(op, "userAssignedIdentityCredentialsPath "+path+": client_secret", c.Certificate, nil)
}
