// Package engine sends requests to the API of Docker, which podman answers as well. It is a client of its own:
// package transport says of each error whether a request may have been carried out, which the client of Moby
// does not, and ten requests need no SDK.
package engine
