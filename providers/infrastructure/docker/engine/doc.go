// Package engine sends requests to the API of Docker, which podman answers as well, with the client of Moby. What
// became of a request is noted below that client, whose errors do not say whether a request was sent, and so not whether
// it may have been carried out.
package engine
