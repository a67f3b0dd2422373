package script

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"fairlead.dev/agent/inputs/autoscaler/externalgrpc"
)

// signed writes NAME.crt and NAME.key for each name: the first is an authority,
// which signs the others; one with a colon is NAME=URI.
//
//	signed ca server NAME=URI
func signed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: signed AUTHORITY NAME[=URI]...")
	}
	var parent *x509.Certificate
	var signer *ecdsa.PrivateKey
	for i, arg := range args {
		name, uri := arg, ""
		for j, r := range arg {
			if r == '=' {
				name, uri = arg[:j], arg[j+1:]
				break
			}
		}
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		ts.Check(err)
		c := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i + 1)), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			BasicConstraintsValid: true, IsCA: parent == nil, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		}
		if u, err := url.Parse(uri); err == nil && uri != "" {
			c.URIs = []*url.URL{u}
		}
		if parent == nil {
			parent, signer = c, key
		} else {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
		}
		der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
		ts.Check(err)
		secret, err := x509.MarshalPKCS8PrivateKey(key)
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(name+".crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
		ts.Check(os.WriteFile(ts.MkAbs(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	}
}

// autoscaler calls the agent at an address as cluster-autoscaler does, with the
// certificate called NAME, signed by the authority ca. It repeats calls that find
// no agent, as cluster-autoscaler does with each of its rounds.
//
//	autoscaler ADDRESS NAME size GROUP WANT
//	autoscaler ADDRESS NAME increase GROUP N
//	autoscaler ADDRESS NAME delete GROUP FILE       the first node that the group has goes; its id is written to FILE
func autoscaler(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 5 {
		ts.Fatalf("usage: autoscaler ADDRESS NAME size|increase|delete GROUP ARGUMENT")
	}
	address, name, what, group, arg := args[0], args[1], args[2], args[3], args[4]
	pair, err := tls.LoadX509KeyPair(ts.MkAbs(name+".crt"), ts.MkAbs(name+".key"))
	ts.Check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ts.ReadFile("ca.crt")))
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots})))
	ts.Check(err)
	defer conn.Close()
	c := externalgrpc.NewCloudProviderClient(conn)
	deadline := time.Now().Add(time.Minute)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		err = scale(ctx, ts, c, what, group, arg)
		cancel()
		if (err == nil) != neg && status.Code(err) != codes.Unavailable {
			ts.Logf("%v", err)
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("autoscaler %v: %v", args, err)
		}
		time.Sleep(300 * time.Millisecond)
	}
}

func scale(ctx context.Context, ts *testscript.TestScript, c externalgrpc.CloudProviderClient, what, group, arg string) error {
	switch what {
	case "size":
		got, err := c.NodeGroupTargetSize(ctx, &externalgrpc.NodeGroupTargetSizeRequest{Id: group})
		if err == nil && fmt.Sprint(got.TargetSize) != arg {
			return fmt.Errorf("the size is %d, want %s", got.TargetSize, arg)
		}
		return err
	case "increase":
		n, err := strconv.Atoi(arg)
		ts.Check(err)
		_, err = c.NodeGroupIncreaseSize(ctx, &externalgrpc.NodeGroupIncreaseSizeRequest{Id: group, Delta: int32(n)})
		return err
	case "delete":
		nodes, err := c.NodeGroupNodes(ctx, &externalgrpc.NodeGroupNodesRequest{Id: group})
		if err != nil || len(nodes.Instances) == 0 {
			return fmt.Errorf("no nodes: %w", err)
		}
		id := nodes.Instances[0].Id
		ts.Check(os.WriteFile(ts.MkAbs(arg), []byte(id), 0o600))
		_, err = c.NodeGroupDeleteNodes(ctx, &externalgrpc.NodeGroupDeleteNodesRequest{Id: group, Nodes: []*externalgrpc.ExternalGrpcNode{{ProviderID: id, Name: id}}})
		return err
	}
	ts.Fatalf("no call %s", what)
	return nil
}
