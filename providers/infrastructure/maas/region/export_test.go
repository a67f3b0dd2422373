package region

import "net/http"

// Refusal returns the error of an answer.
func Refusal(method string, status int, header http.Header, body string) error {
	return refusal(method, &http.Response{StatusCode: status, Header: header}, []byte(body))
}
