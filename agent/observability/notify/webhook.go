package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/fleet"
)

// A webhook posts each event as a CloudEvent, in structured mode, and signs it where there
// is a key. The receiver recognizes repeated ones by their id.
// Source: CloudEvents 1.0, HTTP protocol binding; Standard Webhooks 1.0.
type webhook struct {
	client
	key   []byte // empty: nothing is signed
	token fleet.Secret
	now   func() time.Time
}

// cloudEvent is an event in the JSON format of CloudEvents.
type cloudEvent struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject"`
	Time            string    `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Data            eventData `json:"data"`
}

// eventData is what Fairlead says of an event.
type eventData struct {
	Fleet    string        `json:"fleet"`
	Cluster  *clusterName  `json:"cluster,omitempty"`
	Machine  string        `json:"machine,omitempty"`
	Message  string        `json:"message,omitempty"`
	Revision *revisionData `json:"revision,omitempty"`
}

type clusterName struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

type revisionData struct {
	Ref    string `json:"ref"`
	Digest string `json:"digest"`
}

// typePrefix begins the types of CloudEvents.
const typePrefix = "dev.fairlead."

// Send implements Sender. Events are sent one by one, in order.
func (w webhook) Send(ctx context.Context, m Message) (int, error) {
	for i, e := range m.Events {
		body, err := json.Marshal(newCloudEvent(m.Fleet, e))
		if err != nil {
			return i, err
		}
		if _, err := w.send(ctx, http.MethodPost, "", "application/cloudevents+json; charset=utf-8", body, w.header(e.ID, body)); err != nil {
			return i, err
		}
	}
	return len(m.Events), nil
}

func newCloudEvent(id fleet.ID, e fleet.Event) cloudEvent {
	c := cloudEvent{
		SpecVersion: "1.0", ID: e.ID, Source: "/fairlead/" + string(id), Type: typePrefix + string(e.Type), Subject: e.Subject(),
		Time: e.At.UTC().Format(time.RFC3339), DataContentType: "application/json",
		Data: eventData{Fleet: string(id), Machine: string(e.Machine), Message: fleet.PlainText(e.Message)},
	}
	if e.Cluster != (fleet.Key{}) {
		c.Data.Cluster = &clusterName{e.Cluster.Namespace, e.Cluster.Name}
	}
	if !e.Revision.IsZero() {
		c.Data.Revision = &revisionData{e.Revision.Ref, e.Revision.Digest}
	}
	return c
}

// header returns what proves that a request is from here.
func (w webhook) header(id string, body []byte) map[string]string {
	h := map[string]string{}
	if !w.token.IsZero() {
		h["Authorization"] = "Bearer " + string(w.token.Reveal())
	}
	if len(w.key) > 0 {
		at := strconv.FormatInt(w.now().Unix(), 10)
		mac := hmac.New(sha256.New, w.key)
		_, _ = mac.Write([]byte(id + "." + at + "."))
		_, _ = mac.Write(body)
		h["webhook-id"], h["webhook-timestamp"] = id, at
		h["webhook-signature"] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return h
}

// signingKey returns the key in a secret of Standard Webhooks, or the text itself.
func signingKey(text fleet.Secret) ([]byte, error) {
	encoded, ok := strings.CutPrefix(string(text.Reveal()), "whsec_")
	if !ok {
		return text.Reveal(), nil
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errors.New("its signingKey begins with whsec_ and goes on with something else than base64")
	}
	return key, nil
}
