package fleet_test

import (
	"testing"

	"fairlead.dev/fleet"
)

func TestStableText(t *testing.T) {
	for text, want := range map[string]string{
		"read tcp 10.0.0.5:43112->10.0.0.9:6443: read: connection reset by peer":                   "tcp 10.0.0.9:6443: connection reset by peer",
		"write tcp [fd00::5%eth0]:43112->[fd00::9]:6443: write: broken pipe":                       "tcp [fd00::9]:6443: connection reset by peer",
		"lookup api.example.org on 10.0.0.2:53: read udp 10.0.0.5:41233->10.0.0.2:53: i/o timeout": "lookup api.example.org on 10.0.0.2:53: read udp 10.0.0.2:53: i/o timeout",
		"dial tcp 10.0.0.9:6443: connect: connection reset by peer":                                "tcp 10.0.0.9:6443: connection reset by peer",
		"dial tcp 10.0.0.9:6443: connect: connection refused":                                      "dial tcp 10.0.0.9:6443: connect: connection refused",
		"ssh: handshake failed: read tcp 10.0.0.5:43112->10.0.0.9:22: EOF":                         "ssh: handshake failed: read tcp 10.0.0.9:22: EOF",

		"The server has either erred or is incapable of performing the requested operation. (HTTP 500) (Request-ID: req-4e4c1c2f-7c7c-4d0e-8a55-6b3e2f1a9d10)": "The server has either erred or is incapable of performing the requested operation. (HTTP 500)",
		"Build of instance 1 aborted: Failed to allocate the network(s), request id req-4e4c1c2f-7c7c-4d0e-8a55-6b3e2f1a9d10":                                  "Build of instance 1 aborted: Failed to allocate the network(s)",
		"[req-4e4c1c2f-7c7c-4d0e-8a55-6b3e2f1a9d10 req-5e4c1c2f-7c7c-4d0e-8a55-6b3e2f1a9d11] no valid host":                                                    "req-… no valid host",
		"Timed out waiting for a reply to message req-4e4c1c2f-7c7c-4d0e-8a55-6b3e2f1a9d10":                                                                    "Timed out waiting for a reply to message req-…",

		`http2: server sent GOAWAY and closed the connection; LastStreamID=1999, ErrCode=NO_ERROR, debug=""`:                 `http2: server sent GOAWAY and closed the connection; LastStreamID=…, ErrCode=NO_ERROR, debug=""`,
		"stream error: stream ID 17; INTERNAL_ERROR; received from peer":                                                     "stream error: stream ID …; INTERNAL_ERROR; received from peer",
		"x509: certificate has expired or is not yet valid: current time 2026-11-22T13:00:01Z is after 2026-11-21T00:00:00Z": "x509: certificate has expired or is not yet valid: the time is after 2026-11-21T00:00:00Z",
		"unexpected type *v1.Node(0xc000123abc)":                                                                             "unexpected type *v1.Node(0x…)",
		"too many requests, please try again after 37 s":                                                                     "too many requests, please try again after a while",

		// What says something stays.
		"rotation waits until 2026-11-22T10:00:00Z":                            "rotation waits until 2026-11-22T10:00:00Z",
		"server 4e4c1c2f-7c7c-4d0e-8a55-6b3e2f1a9d10 is gone from 10.0.0.9:22": "server 4e4c1c2f-7c7c-4d0e-8a55-6b3e2f1a9d10 is gone from 10.0.0.9:22",
		"etcd member 0xc2a1 has no machine":                                    "etcd member 0xc2a1 has no machine",
		"":                                                                     "",
	} {
		got := fleet.StableText(text)
		if got != want {
			t.Errorf("%q\nis   %q\nwant %q", text, got, want)
		}
		if again := fleet.StableText(got); again != got {
			t.Errorf("%q is not stable: %q", got, again)
		}
	}
}
