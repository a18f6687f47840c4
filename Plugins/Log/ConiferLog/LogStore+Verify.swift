public import ConiferKeyValue
import ConiferStorage
import Synchronization

extension LogStore {
  /// Reads the manifest, the frames that the next opening would replay, every block of every table,
  /// and the header of every segment; the values in segments are read through views, which check
  /// them.
  ///
  /// - Throws: `io`, `closed`, `suspended`.
  public func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool {
    var manifest: StoreFinding?
    var journal: [StoreFinding] = []
    var store: Bytes = []
    let snapshot = try state.withLock { (state: inout State) throws(StoreError) -> Snapshot in
      let engine = try state.engine()
      store = engine.manifest.store
      manifest = try engine.manifestFinding()
      journal = try engine.journalFindings()
      return engine.snapshot
    }
    if let manifest { found(manifest) }
    journal.forEach(found)
    for finding in findings { found(finding) }
    for table in snapshot.tables {
      for finding in try table.verify(store) { found(finding) }
    }
    for segment in snapshot.segments.values.sorted(by: { $0.number < $1.number }) {
      do throws(StoreError) {
        try FileHeader.check(
          try segment.opened(), segment.path, .segment, store: store, number: segment.number)
      } catch {
        guard error.code != .io else { throw error }
        found(StoreFinding(file: segment.path, offset: 0, bytes: 0, words: error.message))
      }
    }
    return true
  }
}

extension Engine {
  /// Checks the manifest's file. One of its two copies is enough to open the store.
  fileprivate func manifestFinding() throws(StoreError) -> StoreFinding? {
    let path = path("manifest")
    func finding(_ words: String) -> StoreFinding {
      StoreFinding(file: path, offset: 0, bytes: 0, words: words)
    }
    do throws(StoreError) {
      let file = try files.existing(path, .read)
      let bytes = try file.contents(path, at: 0, count: try file.size(path))
      guard try Manifest(bytes, path) == manifest else {
        return finding("the manifest is not the one that was written last")
      }
      return bytes == manifest.bytes ? nil : finding("one of the manifest's two copies is damaged")
    } catch {
      guard error.code != .io else { throw error }
      return finding(error.message)
    }
  }

  /// Checks the frames from the manifest's place on: the next opening would end at an invalid
  /// frame, or leave it out.
  fileprivate func journalFindings() throws(StoreError) -> [StoreFinding] {
    guard let active, manifest.active == active.segment.number else { return [] }
    let path = active.segment.path
    let start = manifest.position
    let bytes = try active.file.contents(path, at: start, count: active.position - start)
    let read = JournalReader(
      bytes, base: start, store: manifest.store, segment: active.segment.number,
      sequence: manifest.sequence, previous: manifest.previous)
    func finding(_ range: Range<Int>, _ words: String) -> StoreFinding {
      StoreFinding(file: path, offset: range.lowerBound, bytes: range.count, words: words)
    }
    var findings = read.lost.filter { !lost.contains($0) }.map {
      finding($0, "frames of the journal cannot be read")
    }
    if read.end < active.position {
      findings.append(
        finding(read.end..<active.position, "the journal ends before the newest commit"))
    }
    return findings
  }
}

extension Table {
  /// Checks the table, read from its file.
  fileprivate func verify(_ store: Bytes) throws(StoreError) -> [StoreFinding] {
    var findings: [StoreFinding] = []
    do throws(StoreError) {
      try checkHeader(store)
      let index = try freshIndex()
      var last: Bytes?
      for number in index.blocks.indices {
        let known = index.blocks[number]
        func finding(_ words: String) -> StoreFinding {
          StoreFinding(file: path, offset: known.offset, bytes: known.length, words: words)
        }
        guard let block = try freshBlock(known) else {
          findings.append(finding("a block of the index has a wrong checksum"))
          last = nil
          continue
        }
        for at in 0..<block.count {
          let key = block.key(at) { Bytes($0) }
          if let last, !bytesPrecede(last, key) {
            findings.append(finding("the keys of the index are not in order"))
            break
          }
          last = key
        }
      }
    } catch {
      guard error.code != .io else { throw error }
      findings.append(StoreFinding(file: path, offset: 0, bytes: 0, words: error.message))
    }
    return findings
  }
}
