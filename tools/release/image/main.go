// Command image builds the agent's image with ko, for two architectures, on a
// base that it makes itself: certificates, time zones, a user and nothing to run.
// The same sources give the same digest.
//
//	go run ./image -ko ko -root ../.. -out ../../bin/image -version v1.2.3
//	go run ./image -ko ko -root ../.. -push registry.example.com/platform/fairlead -version v1.2.3
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// baseName is where ko finds the base. It stands in the image, so it must be the
// same each time: the registry behind it is this process, as ko's proxy.
const baseName = "base.localhost/fairlead"

type options struct {
	ko, root, out, push, version, revision, platforms string
	created                                           time.Time
}

func main() {
	var o options
	flag.StringVar(&o.ko, "ko", "ko", "the program ko")
	flag.StringVar(&o.root, "root", ".", "root of the repository")
	flag.StringVar(&o.out, "out", "", "folder for the OCI layout; the SBOM is written beside it")
	flag.StringVar(&o.push, "push", "", "repository to push to, such as registry.example.com/platform/fairlead")
	flag.StringVar(&o.version, "version", "dev", "version, which is also the tag")
	flag.StringVar(&o.revision, "revision", "", "commit that the image is made of")
	flag.StringVar(&o.platforms, "platforms", "linux/amd64,linux/arm64", "platforms, with commas between")
	epoch := flag.Int64("created", 0, "when the image is said to be made, in Unix seconds: the time of the commit")
	flag.Parse()
	o.created = time.Unix(*epoch, 0).UTC()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "cannot build the image:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if (o.out == "") == (o.push == "") {
		return errors.New("say either -out or -push")
	}
	base, err := baseIndex(strings.Split(o.platforms, ","))
	if err != nil {
		return err
	}
	proxy, digest, stop, err := serve(ctx, base)
	if err != nil {
		return err
	}
	defer stop()
	return build(ctx, o, proxy, baseName+"@"+digest.String())
}

// serve serves base under baseName to the users of the returned URL as a proxy.
func serve(ctx context.Context, base v1.ImageIndex) (proxy string, digest v1.Hash, stop func(), err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", digest, nil, err
	}
	server := &http.Server{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0))), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	ref, err := name.ParseReference(l.Addr().String() + "/fairlead:latest")
	if err == nil {
		err = remote.WriteIndex(ref, base, remote.WithContext(ctx))
	}
	if err == nil {
		digest, err = base.Digest()
	}
	if err != nil {
		_ = server.Close()
		return "", digest, nil, fmt.Errorf("cannot serve the base: %w", err)
	}
	return "http://" + l.Addr().String(), digest, func() { _ = server.Close() }, nil
}

// build runs ko.
func build(ctx context.Context, o options, proxy, base string) error {
	labels := map[string]string{
		"title": "Fairlead", "description": "Runs fleets of Kubernetes clusters from Git",
		"url": "https://fairlead.dev", "version": o.version, "revision": o.revision,
	}
	args := []string{"build", "--bare", "--sbom=spdx", "--platform=" + o.platforms}
	for _, key := range []string{"title", "description", "url", "version", "revision"} {
		if labels[key] != "" {
			args = append(args, "--image-label=org.opencontainers.image."+key+"="+labels[key])
		}
	}
	repository, layout := "fairlead.localhost", "" // that nothing is pushed to
	if o.push != "" {
		repository = o.push
		args = append(args, "--tags="+o.version)
	} else {
		// ko takes the folder for the name of a repository, which has small letters
		// alone: it gets one of its own.
		var err error
		if layout, err = os.MkdirTemp("", "fairlead-image-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(layout) }()
		args = append(args, "--push=false", "--oci-layout-path="+layout+"/image", "--sbom-dir="+layout+"/sbom")
		if err := os.Mkdir(layout+"/sbom", 0o755); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, o.ko, append(args, "./agent/cmd/fairlead")...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = o.root, os.Stderr, os.Stderr
	if o.push != "" {
		cmd.Stdout = os.Stdout // the name with the digest
	}
	epoch := fmt.Sprint(o.created.Unix())
	cmd.Env = append(os.Environ(),
		"KO_DOCKER_REPO="+repository, "KO_DEFAULTBASEIMAGE="+base, "HTTP_PROXY="+proxy,
		"SOURCE_DATE_EPOCH="+epoch, "KO_DATA_DATE_EPOCH="+epoch, "VERSION="+o.version,
		"CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if err := cmd.Run(); err != nil || o.push != "" {
		return err
	}
	// What was there before would be kept beside the new image.
	err := errors.Join(os.RemoveAll(o.out), os.RemoveAll(o.out+"-sbom"))
	err = errors.Join(err, os.CopyFS(o.out, os.DirFS(layout+"/image")), os.CopyFS(o.out+"-sbom", os.DirFS(layout+"/sbom")))
	if err == nil {
		fmt.Fprintf(os.Stderr, "%s is the image, %s-sbom holds its SBOM\n", o.out, o.out)
	}
	return err
}
