package kubeadm

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"text/template"
	"unicode/utf8"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/cloudinit"
)

// maxRendered bounds what a template may grow to, as upstream does.
const maxRendered = 1 << 20

// userFiles returns the files that the user asks for, with content from Secrets
// and templates filled in.
func (w *writer) userFiles() ([]cloudinit.File, error) {
	var out []cloudinit.File
	for i, f := range w.spec.Files {
		content, err := w.content(f)
		if err != nil {
			return nil, &fleet.FieldError{Field: fmt.Sprintf("files[%d]", i), Item: f.Path, Err: err}
		}
		file := cloudinit.File{
			Path:        cloudinit.Text(f.Path),
			Owner:       cloudinit.Text(f.Owner),
			Permissions: cloudinit.Text(f.Permissions),
			Append:      f.Append != nil && *f.Append,
		}
		if file.Encoding, file.Content, err = encodeContent(f.Encoding, content); err != nil {
			return nil, &fleet.FieldError{Field: fmt.Sprintf("files[%d]", i), Item: f.Path, Err: err}
		}
		out = append(out, file)
	}
	return out, nil
}

// content returns what stands in the file, still in the user's encoding.
func (w *writer) content(f bootstrapv1.File) ([]byte, error) {
	content := []byte(f.Content)
	fromSecret := f.ContentFrom.IsDefined()
	if fromSecret {
		var err error
		if content, err = w.secret(f.ContentFrom.Secret.Name, f.ContentFrom.Secret.Key); err != nil {
			return nil, fleet.FieldErrorf("contentFrom.secret", "%w", err)
		}
	}
	if f.ContentFormat != bootstrapv1.FileContentFormatTemplate {
		return content, nil
	}
	out, err := w.render(content)
	if err != nil && fromSecret {
		// A template's error quotes the template.
		return nil, fleet.FieldErrorf("contentFrom.secret", "the content is not a template that can be rendered")
	}
	if err != nil {
		return nil, fleet.FieldErrorf("content", "%w", err)
	}
	return out, nil
}

// secret returns the content of a key of a Secret that the cluster's overlay has.
func (w *writer) secret(name, key string) ([]byte, error) {
	d, ok := w.in.Cluster.Secrets[name]
	if !ok {
		return nil, fmt.Errorf("there is no Secret %s in the overlay", name)
	}
	s, ok := d[key]
	if !ok {
		return nil, fmt.Errorf("there is no key %s in Secret %s", key, name)
	}
	return s.Reveal(), nil
}

// render fills in a file of content format Template. All that it can ask for is
// controlPlane.version.
func (w *writer) render(content []byte) ([]byte, error) {
	t, err := template.New("content").Parse(string(content))
	if err != nil {
		return nil, err
	}
	data := map[string]any{"controlPlane": map[string]any{"version": w.in.Cluster.Version()}}
	var b limitedBuffer
	if err := t.Execute(&b, data); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// A limitedBuffer refuses to grow beyond maxRendered.
type limitedBuffer struct{ bytes.Buffer }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxRendered {
		return 0, fmt.Errorf("it renders to more than %d bytes", maxRendered)
	}
	return b.Buffer.Write(p)
}

// encodeContent returns the encoding and content that make cloud-init write
// what content is in the encoding that the user names. YAML holds no bytes that
// are not text, so those travel in base64.
func encodeContent(encoding bootstrapv1.Encoding, content []byte) (cloudinit.Text, cloudinit.Text, error) {
	if err := cloudinit.CheckEncoding(string(encoding), content); err != nil {
		return "", "", err
	}
	switch encoding {
	case "":
		if !utf8.Valid(content) {
			return "base64", cloudinit.Text(base64.StdEncoding.EncodeToString(content)), nil
		}
		return "", cloudinit.Text(content), cloudinit.CheckJinja(string(content))
	case bootstrapv1.Gzip:
		return "gzip+base64", cloudinit.Text(base64.StdEncoding.EncodeToString(content)), nil
	case bootstrapv1.Base64, bootstrapv1.GzipBase64:
		if !utf8.Valid(content) {
			return "", "", fleet.FieldErrorf("encoding", "the content is not in %s", encoding)
		}
		return cloudinit.Text(encoding), cloudinit.Text(content), cloudinit.CheckJinja(string(content))
	}
	return "", "", fleet.FieldErrorf("encoding", "there is no encoding %q", encoding)
}
