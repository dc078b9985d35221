// A verifier of the audit log that has nothing of Mastio in it: the standard library, golang.org/x/mod/sumdb/note for
// signatures, golang.org/x/mod/sumdb/tlog for the tree. It reads what an auditor may read over REST and believes none
// of it but the key that it was given.
//
// Exit status: 0 everything holds, 1 something does not, 2 used wrongly or nothing to read.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const (
	height = 8
	width  = 1 << height
)

// unreachable is an error of the way to the log, not of the log.
type unreachable struct{ error }

type auditor struct {
	base, token string
	client      *http.Client
	verifier    note.Verifier
	stored      hashes
	leaves      []tlog.Hash
	served      map[string][]byte
	tiles       int
}

// hashes are those of the tree as recomputed here, in the order of tlog.StoredHashIndex.
type hashes []tlog.Hash

func (h hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	found := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		if index >= int64(len(h)) {
			return nil, fmt.Errorf("hash %d is beyond the tree", index)
		}
		found[i] = h[index]
	}
	return found, nil
}

func (a *auditor) get(path string) ([]byte, error) {
	request, err := http.NewRequest("GET", a.base+"/v1/audit/"+path, nil)
	if err != nil {
		return nil, unreachable{err}
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	reply, err := a.client.Do(request)
	if err != nil {
		return nil, unreachable{err}
	}
	defer reply.Body.Close()
	content, err := io.ReadAll(reply.Body)
	if err != nil {
		return nil, unreachable{err}
	}
	if reply.StatusCode == 404 || reply.StatusCode == 500 {
		return nil, fmt.Errorf("%s: %s", path, reply.Status)
	}
	if reply.StatusCode != 200 {
		return nil, unreachable{fmt.Errorf("%s: %s", path, reply.Status)}
	}
	return content, nil
}

// parse verifies a signed checkpoint (C2SP tlog-checkpoint).
func (a *auditor) parse(signed []byte) (tlog.Tree, error) {
	opened, err := note.Open(signed, note.VerifierList(a.verifier))
	if err != nil {
		return tlog.Tree{}, fmt.Errorf("checkpoint: %w", err)
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) < 4 || lines[0] != a.verifier.Name() {
		return tlog.Tree{}, errors.New("checkpoint: of another origin")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 {
		return tlog.Tree{}, errors.New("checkpoint: no size")
	}
	root, err := tlog.ParseHash(lines[2])
	return tlog.Tree{N: size, Hash: root}, err
}

// watch reads checkpoints while the log grows: each that differs from the one before.
func (a *auditor) watch(trees []tlog.Tree, span time.Duration) ([]tlog.Tree, error) {
	for end := time.Now().Add(span); ; time.Sleep(10 * time.Millisecond) {
		signed, err := a.get("log/checkpoint")
		if err != nil {
			return nil, err
		}
		tree, err := a.parse(signed)
		if err != nil {
			return nil, err
		}
		if last := len(trees) - 1; last < 0 || trees[last] != tree {
			if last >= 0 && tree.N <= trees[last].N {
				return nil, fmt.Errorf("the checkpoint went from size %d to %d", trees[last].N, tree.N)
			}
			trees = append(trees, tree)
		}
		if time.Now().After(end) {
			return trees, nil
		}
	}
}

// path is that of C2SP tlog-tiles, which has no height in it.
func path(level string, tile tlog.Tile) string {
	groups := []string{fmt.Sprintf("%03d", tile.N%1000)}
	for n := tile.N / 1000; n > 0; n /= 1000 {
		groups = append([]string{fmt.Sprintf("x%03d", n%1000)}, groups...)
	}
	name := "log/tile/" + level + "/" + strings.Join(groups, "/")
	if tile.W < width {
		name += fmt.Sprintf(".p/%d", tile.W)
	}
	return name
}

// entries recomputes leaves, hash chain and tree from the entry bundles.
func (a *auditor) entries(size int64) error {
	previous := strings.Repeat("0", 64)
	for start := int64(0); start < size; start += width {
		bundle := tlog.Tile{H: height, N: start / width, W: int(min(width, size-start))}
		content, err := a.get(path("entries", bundle))
		if err != nil {
			return err
		}
		for i := 0; i < bundle.W; i++ {
			index := start + int64(i)
			if len(content) < 2 || len(content) < 2+int(content[0])<<8+int(content[1]) {
				return fmt.Errorf("entry %d: its bundle is cut off", index)
			}
			end := 2 + int(content[0])<<8 + int(content[1])
			entry := content[2:end]
			content = content[end:]
			var chained struct {
				Seq  *int64
				Prev string
			}
			if err := json.Unmarshal(entry, &chained); err != nil {
				return fmt.Errorf("entry %d: %w", index, err)
			}
			if chained.Seq == nil || *chained.Seq != index || chained.Prev != previous {
				return fmt.Errorf("entry %d: it is not chained to the one before", index)
			}
			leaf := tlog.RecordHash(entry)
			previous = hex.EncodeToString(leaf[:])
			made, err := tlog.StoredHashesForRecordHash(index, leaf, a.stored)
			if err != nil {
				return err
			}
			a.stored = append(a.stored, made...)
			a.leaves = append(a.leaves, leaf)
		}
		if len(content) != 0 {
			return fmt.Errorf("entry %d: more follows in its bundle", start+int64(bundle.W)-1)
		}
	}
	return nil
}

// compare reads every tile of hashes and compares it with what was recomputed.
func (a *auditor) compare(size int64) error {
	for _, tile := range tlog.NewTiles(height, 0, size) {
		content, err := a.get(path(strconv.Itoa(tile.L), tile))
		if err != nil {
			return err
		}
		expected, err := tlog.ReadTileData(tile, a.stored)
		if err != nil {
			return err
		}
		if !bytes.Equal(content, expected) {
			return fmt.Errorf("tile %d of level %d is not that of the entries", tile.N, tile.L)
		}
		a.served[tile.Path()] = content
		a.tiles++
	}
	return nil
}

// Height, ReadTiles and SaveTiles let tlog read the tree from the tiles that were served.
func (a *auditor) Height() int { return height }

func (a *auditor) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	found := make([][]byte, len(tiles))
	for i, tile := range tiles {
		content, known := a.served[tile.Path()]
		if !known {
			var err error
			if content, err = a.get(path(strconv.Itoa(tile.L), tile)); err != nil {
				return nil, err
			}
			a.served[tile.Path()] = content
		}
		found[i] = content
	}
	return found, nil
}

func (a *auditor) SaveTiles([]tlog.Tile, [][]byte) {}

// include proves every entry, and every so often also from the tiles and by the proof that the log itself writes.
func (a *auditor) include(tree tlog.Tree, every int64) (int, error) {
	fromTiles, asked := tlog.TileHashReader(tree, a), 0
	for index := int64(0); index < tree.N; index++ {
		proof, err := tlog.ProveRecord(tree.N, index, a.stored)
		if err == nil {
			err = tlog.CheckRecord(proof, tree.N, tree.Hash, index, a.leaves[index])
		}
		if err != nil {
			return asked, fmt.Errorf("entry %d: %w", index, err)
		}
		if index%every != 0 && index != tree.N-1 {
			continue
		}
		if proof, err = tlog.ProveRecord(tree.N, index, fromTiles); err == nil {
			err = tlog.CheckRecord(proof, tree.N, tree.Hash, index, a.leaves[index])
		}
		if err == nil {
			err = a.ask(index)
		}
		if err != nil {
			return asked, fmt.Errorf("entry %d: %w", index, err)
		}
		asked++
	}
	return asked, nil
}

// ask verifies a proof as the log writes it (C2SP tlog-proof).
func (a *auditor) ask(index int64) error {
	content, err := a.get(fmt.Sprintf("proof/%d", index))
	if err != nil {
		return err
	}
	head, signed, _ := bytes.Cut(content, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	if len(lines) < 2 || lines[0] != "c2sp.org/tlog-proof@v1" || lines[1] != fmt.Sprintf("index %d", index) {
		return errors.New("it is no proof")
	}
	proof, err := parseHashes(lines[2:])
	if err != nil {
		return err
	}
	tree, err := a.parse(signed)
	if err != nil {
		return err
	}
	return tlog.CheckRecord(proof, tree.N, tree.Hash, index, a.leaves[index])
}

// extend proves that each checkpoint extends every one before: from the tiles, and as the log itself writes it.
func (a *auditor) extend(trees []tlog.Tree) (int, error) {
	pairs := 0
	for i, old := range trees {
		for _, tree := range trees[i+1:] {
			if old.N == 0 {
				continue
			}
			proof, err := tlog.ProveTree(tree.N, old.N, tlog.TileHashReader(tree, a))
			if err == nil {
				err = tlog.CheckTree(proof, tree.N, tree.Hash, old.N, old.Hash)
			}
			if err == nil && i+1 < len(trees) && tree == trees[i+1] {
				err = a.askExtension(old, tree)
			}
			if err != nil {
				return pairs, fmt.Errorf("sizes %d and %d: %w", old.N, tree.N, err)
			}
			pairs++
		}
	}
	return pairs, nil
}

func (a *auditor) askExtension(old, tree tlog.Tree) error {
	content, err := a.get(fmt.Sprintf("log/checkpoint?old=%d&size=%d", old.N, tree.N))
	if err != nil {
		return err
	}
	head, signed, _ := bytes.Cut(content, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	if lines[0] != fmt.Sprintf("old %d", old.N) {
		return errors.New("it is no consistency proof")
	}
	proof, err := parseHashes(lines[1:])
	if err != nil {
		return err
	}
	if again, err := a.parse(signed); err != nil || again != tree {
		return errors.New("another checkpoint of the same size")
	}
	return tlog.CheckTree(proof, tree.N, tree.Hash, old.N, old.Hash)
}

func parseHashes(lines []string) ([]tlog.Hash, error) {
	found := make([]tlog.Hash, len(lines))
	for i, line := range lines {
		raw, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(raw) != tlog.HashSize {
			return nil, errors.New("a hash of the proof is malformed")
		}
		copy(found[i][:], raw)
	}
	return found, nil
}

type report struct {
	Size        int64  `json:"size"`
	Root        string `json:"root"`
	Checkpoints int    `json:"checkpoints"`
	Tiles       int    `json:"tiles"`
	Levels      int    `json:"levels"`
	Asked       int    `json:"asked"`
	Pairs       int    `json:"pairs"`
}

func (a *auditor) run(kept []byte, span time.Duration, every int64) (*report, error) {
	var trees []tlog.Tree
	if len(kept) > 0 {
		tree, err := a.parse(kept)
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree)
	}
	vkey, err := a.get("log/vkey")
	if err != nil {
		return nil, err
	}
	served, err := note.NewVerifier(strings.TrimSuffix(string(vkey), "\n"))
	if err != nil || served.Name() != a.verifier.Name() || served.KeyHash() != a.verifier.KeyHash() {
		return nil, errors.New("the key that is served is not the one that was pinned")
	}
	if trees, err = a.watch(trees, span); err != nil {
		return nil, err
	}
	newest := trees[len(trees)-1]
	if err = a.entries(newest.N); err != nil {
		return nil, err
	}
	if err = a.compare(newest.N); err != nil {
		return nil, err
	}
	for _, tree := range trees {
		root, err := tlog.TreeHash(tree.N, a.stored)
		if err != nil || root != tree.Hash {
			return nil, fmt.Errorf("the root of size %d is not that of the entries", tree.N)
		}
	}
	asked, err := a.include(newest, every)
	if err != nil {
		return nil, err
	}
	pairs, err := a.extend(trees)
	if err != nil {
		return nil, err
	}
	levels := 0
	for size := newest.N; size > 0; size >>= height {
		levels++
	}
	return &report{newest.N, hex.EncodeToString(newest.Hash[:]), len(trees), a.tiles, levels, asked, pairs}, nil
}

func connect(ca string) (*http.Client, error) {
	transport := &http.Transport{}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, errors.New("the CA file holds no certificate")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}, nil
}

func main() {
	base := flag.String("url", "", "base URL of the appliance")
	ca := flag.String("ca", "", "file with its CA certificate")
	token := flag.String("token-file", "", "file with an auditor's token")
	vkey := flag.String("vkey", "", "the log's key")
	kept := flag.String("checkpoint", "", "file with an older signed checkpoint")
	span := flag.Duration("watch", 0, "how long to read checkpoints while the log grows")
	every := flag.Int64("every", 1000, "ask for a proof of every so-manieth entry")
	flag.Parse()

	fail := func(status int, err error) {
		fmt.Fprintln(os.Stderr, "foreign:", err)
		os.Exit(status)
	}
	secret, err := os.ReadFile(*token)
	if err != nil {
		fail(2, err)
	}
	client, err := connect(*ca)
	if err != nil {
		fail(2, err)
	}
	verifier, err := note.NewVerifier(*vkey)
	if err != nil {
		fail(2, err)
	}
	var old []byte
	if *kept != "" {
		if old, err = os.ReadFile(*kept); err != nil {
			fail(2, err)
		}
	}
	a := &auditor{
		base: *base, token: strings.TrimSpace(string(secret)), client: client, verifier: verifier,
		served: map[string][]byte{},
	}
	found, err := a.run(old, *span, *every)
	if err != nil {
		var way unreachable
		if errors.As(err, &way) {
			fail(2, err)
		}
		fail(1, err)
	}
	json.NewEncoder(os.Stdout).Encode(found)
}
