// A witness (C2SP tlog-witness) that has nothing of Mastio in it: notes by golang.org/x/mod/sumdb/note, checkpoints and
// cosignatures by transparency-dev/formats, consistency proofs by transparency-dev/merkle.
//
// It prints its URL and its vkey, a line each, and witnesses the logs whose vkeys come on its standard input, a line
// each. What it has signed is forgotten when it ends.
package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"

	f_log "github.com/transparency-dev/formats/log"
	f_note "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
)

const name = "witness.example/foreign"

type witness struct {
	mu     sync.Mutex
	signer note.Signer
	logs   map[string]note.Verifier
	latest map[string]*f_log.Checkpoint
}

// refusal is an answer other than a cosignature.
type refusal struct {
	status int
	size   uint64
	sized  bool
}

func (w *witness) add(body []byte) ([]byte, *refusal) {
	head, checkpoint, found := bytes.Cut(body, []byte("\n\n"))
	if !found {
		return nil, &refusal{status: http.StatusBadRequest}
	}
	lines := strings.Split(string(head), "\n")
	old, err := strconv.ParseUint(strings.TrimPrefix(lines[0], "old "), 10, 64)
	if err != nil || lines[0] != fmt.Sprintf("old %d", old) || len(lines) > 64 {
		return nil, &refusal{status: http.StatusBadRequest}
	}
	var path [][]byte
	for _, line := range lines[1:] {
		hash, err := base64.StdEncoding.DecodeString(line)
		if err != nil {
			return nil, &refusal{status: http.StatusBadRequest}
		}
		path = append(path, hash)
	}
	origin, _, _ := strings.Cut(string(checkpoint), "\n")

	w.mu.Lock()
	defer w.mu.Unlock()
	verifier, known := w.logs[origin]
	if !known {
		return nil, &refusal{status: http.StatusNotFound}
	}
	next, _, opened, err := f_log.ParseCheckpoint(checkpoint, origin, verifier)
	if err != nil {
		return nil, &refusal{status: http.StatusForbidden}
	}
	if old > next.Size {
		return nil, &refusal{status: http.StatusBadRequest}
	}
	last := w.latest[origin]
	if last == nil {
		last = &f_log.Checkpoint{}
	}
	if old != last.Size {
		return nil, &refusal{http.StatusConflict, last.Size, true}
	}
	switch {
	case old == 0:
		if len(path) > 0 {
			return nil, &refusal{status: http.StatusUnprocessableEntity}
		}
	case old == next.Size:
		if !bytes.Equal(last.Hash, next.Hash) || len(path) > 0 {
			return nil, &refusal{status: http.StatusConflict}
		}
	default:
		if proof.VerifyConsistency(rfc6962.DefaultHasher, old, next.Size, path, last.Hash, next.Hash) != nil {
			return nil, &refusal{status: http.StatusUnprocessableEntity}
		}
	}
	signed, err := note.Sign(&note.Note{Text: opened.Text}, w.signer)
	if err != nil {
		return nil, &refusal{status: http.StatusInternalServerError}
	}
	w.latest[origin] = next
	return signed[len(opened.Text)+1:], nil
}

func (w *witness) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost || request.URL.Path != "/add-checkpoint" {
		http.NotFound(answer, request)
		return
	}
	body, err := io.ReadAll(io.LimitReader(request.Body, 1<<16))
	if err != nil {
		http.Error(answer, "", http.StatusBadRequest)
		return
	}
	cosignature, refused := w.add(body)
	switch {
	case refused == nil:
		_, _ = answer.Write(cosignature)
	case refused.sized:
		answer.Header().Set("Content-Type", "text/x.tlog.size")
		answer.WriteHeader(refused.status)
		fmt.Fprintf(answer, "%d\n", refused.size)
	default:
		http.Error(answer, "", refused.status)
	}
	if refused != nil {
		log.Printf("refused %d", refused.status)
	}
}

func main() {
	secret, public, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		log.Fatal(err)
	}
	signer, err := f_note.NewSignerForCosignatureV1(secret)
	if err != nil {
		log.Fatal(err)
	}
	vkey, err := f_note.VKeyToCosignatureV1(public)
	if err != nil {
		log.Fatal(err)
	}
	w := &witness{signer: signer, logs: map[string]note.Verifier{}, latest: map[string]*f_log.Checkpoint{}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n%s\n", listener.Addr(), vkey)
	go func() { log.Fatal(http.Serve(listener, w)) }()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		verifier, err := note.NewVerifier(lines.Text())
		if err != nil {
			log.Fatal(err)
		}
		w.mu.Lock()
		w.logs[verifier.Name()] = verifier
		w.mu.Unlock()
	}
}
