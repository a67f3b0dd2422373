package azure_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/azure"
	"fairlead.dev/providers/infrastructure/azure/arm"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
)

// A proof is a certificate with its private key, and who issued it.
type proof struct {
	cert, issuer *x509.Certificate
	text         string // PEM
}

// proofs are made once: keys take a while.
var proofs = sync.OnceValues(func() (proof, proof) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Unix(0, 0), NotAfter: time.Now().AddDate(100, 0, 0), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	make_ := func(serial int64) proof {
		der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: time.Unix(0, 0), NotAfter: time.Now().AddDate(100, 0, 0)}, authority, &key.PublicKey, key)
		if err != nil {
			panic(err)
		}
		top, err := x509.CreateCertificate(rand.Reader, authority, authority, &key.PublicKey, key)
		if err != nil {
			panic(err)
		}
		var out proof
		out.cert, _ = x509.ParseCertificate(der)
		out.issuer, _ = x509.ParseCertificate(top)
		private, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			panic(err)
		}
		out.text = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})) + string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
		return out
	}
	return make_(2), make_(3)
})

// identity is an AzureClusterIdentity of a type with more fields.
func identity(t testing.TB, kind, more string) []fleet.Object {
	return []fleet.Object{object(t, "AzureClusterIdentity", "fleet", `{type: `+kind+`, tenantID: `+azuretest.Tenant+`, clientID: `+azuretest.ClientID+`, allowedNamespaces: {}`+more+`}`)}
}

// as starts an agent that allows what agent says, whose cluster has an identity. Secret has the key clientSecret.
func (w *world) as(agent azure.Agent, secret string, identity []fleet.Object) {
	w.p = azure.New(azure.Options{
		ARM: arm.Options{Base: w.Cloud}, Tick: tick, Settle: settle, Agent: agent,
		Secret: func(context.Context, fleet.Key) (fleet.SecretData, error) {
			return fleet.SecretData{"clientSecret": fleet.NewSecret([]byte(secret))}, nil
		},
	})
	w.Cleanup(w.p.Close)
	w.c.Companions = identity
}

// observed returns what the agent says of the cluster.
func (w *world) observed() error {
	time.Sleep(2 * tick)
	_, err := w.p.Observe(w.Context(), &w.c)
	if err != nil && strings.Contains(err.Error(), "ExpiredAuthenticationToken") { // the next one logs in
		time.Sleep(2 * tick)
		_, err = w.p.Observe(w.Context(), &w.c)
	}
	return err
}

func (w *world) write(path, text string) {
	w.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

// TestIdentitiesOfTheAgent: what is of the agent's machine is used only where its operator allows it.
func TestIdentitiesOfTheAgent(t *testing.T) {
	in(t, func(w *world) {
		for flag, of := range map[string][]fleet.Object{
			"--azure-workload-identity-token FILE": identity(t, "WorkloadIdentity", ""),
			"--azure-managed-identity true":        identity(t, "UserAssignedMSI", ""),
			"--azure-credential-files FOLDER":      identity(t, "ServicePrincipalCertificate", ", certPath: /etc/passwd"),
			"--azure-credential-files  FOLDER":     identity(t, "UserAssignedIdentityCredential", ", userAssignedIdentityCredentialsPath: /etc/passwd"),
		} {
			w.as(azure.Agent{}, "", of)
			err := w.observed()
			wantKind(t, flag, err, fleet.Unauthorized)
			if want := strings.ReplaceAll(flag, "  ", " "); err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not say %s", err, want)
			}
		}
		if n := w.Logins(); n > 0 {
			t.Errorf("tokens were asked for %d times", n)
		}
	})
}

// TestCertificate: a certificate in a Secret or in a file logs in, another one in its place does, too, and none leads
// out of the folder that the operator allows.
func TestCertificate(t *testing.T) {
	first, second := proofs()
	folder := t.TempDir()
	in(t, func(w *world) {
		w.TrustCertificate(first.cert)
		inSecret := identity(t, "ServicePrincipalCertificate", ", clientSecret: {name: principal}")
		w.as(azure.Agent{}, first.text, inSecret)
		if err := w.observed(); err != nil {
			t.Error(err)
		}
		w.SetPassword("another") // ends the tokens
		if err := w.observed(); err != nil {
			t.Errorf("a second login: %v", err)
		}
		w.as(azure.Agent{}, second.text, inSecret)
		err := w.observed()
		wantKind(t, "a certificate that is not trusted", err, fleet.Unauthorized)
		if err != nil && (!strings.Contains(err.Error(), "AADSTS700027") || !strings.Contains(err.Error(), "and its certificate)")) {
			t.Errorf("Observe = %v", err)
		}
		path := filepath.Join(folder, "cert.pem")
		w.write(path, first.text)
		w.as(azure.Agent{Files: folder}, "", identity(t, "ServicePrincipalCertificate", ", certPath: "+path))
		if err := w.observed(); err != nil {
			t.Error(err)
		}
		w.TrustCertificate(second.cert)
		w.write(path, second.text)
		if err := w.observed(); err != nil {
			t.Errorf("after the file changed: %v", err)
		}
	})
}

// TestCertificatesThatAreNone: what is no certificate with an RSA key is refused with what to do, and nothing of it is
// in the error.
func TestCertificatesThatAreNone(t *testing.T) {
	first, _ := proofs()
	folder, outside := t.TempDir(), filepath.Join(t.TempDir(), "cert.pem")
	onlyKey, onlyCertificate, _ := strings.Cut(first.text, "-----BEGIN CERTIFICATE")
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	in(t, func(w *world) {
		w.write(outside, first.text)
		link := filepath.Join(folder, "link.pem")
		if err := os.Symlink(outside, link); err != nil {
			t.Fatal(err)
		}
		w.write(filepath.Join(folder, "text.pem"), "something-private")
		for path, want := range map[string]string{
			outside: "is not in " + folder,
			folder + "/../" + filepath.Base(filepath.Dir(outside)) + "/cert.pem": "is not in " + folder,
			link:                              "escapes",
			filepath.Join(folder, "none.pem"): "no such file",
			filepath.Join(folder, "text.pem"): "neither PEM nor PKCS #12",
		} {
			w.as(azure.Agent{Files: folder}, "", identity(t, "ServicePrincipalCertificate", ", certPath: '"+path+"'"))
			err := w.observed()
			wantKind(t, path, err, fleet.Unauthorized)
			if err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "something-private")) {
				t.Errorf("%s: %v, want %s", path, err, want)
			}
		}
		for text, want := range map[string]string{
			onlyKey: "no certificate of its private key", "-----BEGIN CERTIFICATE" + onlyCertificate: "append the private key",
			string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})): "takes RSA keys alone",
			"": "has no key clientSecret",
		} {
			w.as(azure.Agent{}, text, identity(t, "ServicePrincipalCertificate", ", clientSecret: {name: principal}"))
			err := w.observed()
			wantKind(t, want, err, fleet.Unauthorized)
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		if n := w.Logins(); n > 0 {
			t.Errorf("tokens were asked for %d times", n)
		}
	})
}

// TestWorkloadIdentity: the token of the agent's workload identity is read when a token is asked for, since it is renewed.
func TestWorkloadIdentity(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	in(t, func(w *world) {
		w.as(azure.Agent{TokenFile: file}, "", identity(t, "WorkloadIdentity", ""))
		err := w.observed()
		wantKind(t, "without a file", err, fleet.Unauthorized)
		w.write(file, "token-of-the-cluster\n")
		w.TrustToken("token-of-the-cluster")
		if err := w.observed(); err != nil {
			t.Error(err)
		}
		w.TrustToken("the-next-token")
		w.write(file, "the-next-token")
		if err := w.observed(); err != nil {
			t.Errorf("after the file changed: %v", err)
		}
		w.TrustToken("another")
		err = w.observed()
		wantKind(t, "a token that is not trusted", err, fleet.Unauthorized)
		if err != nil && !strings.Contains(err.Error(), "federated credential") {
			t.Errorf("Observe = %v", err)
		}
	})
}

// TestManagedIdentity: the metadata of the agent's machine gives the token, and is asked again while it is being updated.
func TestManagedIdentity(t *testing.T) {
	in(t, func(w *world) {
		w.GiveMachine(1, azuretest.ClientID)
		w.as(azure.Agent{Machine: true}, "", identity(t, "UserAssignedMSI", ""))
		wantKind(t, "while it is updated", w.observed(), fleet.Unavailable)
		if err := w.observed(); err != nil {
			t.Error(err)
		}
		before := w.Logins()
		time.Sleep(50 * time.Minute)
		if err := w.observed(); err != nil || w.Logins() != before {
			t.Errorf("%v, and %d more tokens in the time of one", err, w.Logins()-before)
		}
		w.GiveMachine(0, "another")
		err := w.observed()
		wantKind(t, "an identity that the machine has not", err, fleet.Unauthorized)
		if err != nil && !strings.Contains(err.Error(), "Identity not found (correct clientID") {
			t.Errorf("Observe = %v", err)
		}
	})
}

// TestIdentityCredential: the file of a UserAssignedIdentityCredential gives the certificate, which is sent with its chain.
func TestIdentityCredential(t *testing.T) {
	first, _ := proofs()
	folder := t.TempDir()
	path := filepath.Join(folder, "identity.json")
	in(t, func(w *world) {
		write := func(changes map[string]any) {
			out := map[string]any{"client_id": strings.ToUpper(azuretest.ClientID), "tenant_id": azuretest.Tenant, "client_secret": base64.StdEncoding.EncodeToString([]byte(first.text)), "authentication_endpoint": "https://login.microsoftonline.com/", "renew_after": "2026-12-01T00:00:00Z"}
			for k, v := range changes {
				out[k] = v
			}
			data, err := json.Marshal(out)
			if err != nil {
				t.Fatal(err)
			}
			w.write(path, string(data))
		}
		w.TrustIssuer(first.issuer)
		write(nil)
		w.as(azure.Agent{Files: folder}, "", identity(t, "UserAssignedIdentityCredential", ", userAssignedIdentityCredentialsPath: "+path))
		if err := w.observed(); err != nil {
			t.Error(err)
		}
		for want, changes := range map[string]map[string]any{
			"it is of client \"b\"":        {"client_id": "b"},
			"in tenant \"b\"":              {"tenant_id": "b"},
			"is no https://HOST":           {"authentication_endpoint": "http://login.microsoftonline.com"},
			"client_secret is no base64":   {"client_secret": "-"},
			"client_secret: it is neither": {"client_secret": "YWJj"},
			"it is no JSON":                {"tenant_id": 1},
		} {
			write(changes)
			err := w.observed()
			wantKind(t, want, err, fleet.Unauthorized)
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		write(nil)
		w.as(azure.Agent{Files: folder}, "", identity(t, "UserAssignedIdentityCredential", ", userAssignedIdentityCredentialsCloudType: china, userAssignedIdentityCredentialsPath: "+path))
		if err := w.observed(); err == nil || !strings.Contains(err.Error(), "is china, and the cluster is in public") {
			t.Errorf("of another cloud: %v", err)
		}
	})
}

// TestAzureJSONWithoutPassword: a server that has no identity gets no azure.json, with which nothing could log in.
func TestAzureJSONWithoutPassword(t *testing.T) {
	in(t, func(w *world) {
		w.GiveMachine(0, azuretest.ClientID)
		w.as(azure.Agent{Machine: true}, "", identity(t, "UserAssignedMSI", ""))
		server, err := w.p.AnswerSecrets(w.Context(), &w.c, w.c.ControlPlane)
		if err != nil {
			t.Fatal(err)
		}
		worker, err := w.p.AnswerSecrets(w.Context(), &w.c, w.c.Workers[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, there := server["nodes-azure-json"]["control-plane-azure.json"]; there {
			t.Error("a server has azure.json without a password")
		}
		if !bytes.Contains(worker["nodes-azure-json"]["worker-node-azure.json"].Reveal(), []byte("rg-1")) {
			t.Error("a worker has no azure.json")
		}
	})
}
