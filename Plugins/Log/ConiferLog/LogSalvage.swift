package import ConiferKeyValue
import ConiferStorage

/// Reads what can be read of a damaged log: tables from the oldest on, each value where its table
/// says, then the journal's frames.
///
/// Where a block of a table cannot be read, older tables' entries for its keys are ignored, except
/// those of the queue, where an old write is better than none. Without a manifest it is unknown
/// which files are valid.
package struct LogSalvage {
  private let directory: String
  private let files: any LogFileSystem
  private let manifest: Manifest
  private let edit: (Batch.Edit) throws(StoreError) -> Void
  private let lost: (StoreFinding) -> Void
  private var open: [UInt64: (any LogFile)?] = [:]

  /// The spaces whose old rows are kept where newer ones cannot be read.
  private let precious: Set<UInt8>

  /// Reads a store's directory; nothing in it is changed or locked.
  ///
  /// - Parameters:
  ///   - precious: the numbers of spaces whose old rows are better than none.
  ///   - edit: gets the edits that produce the rows, in order.
  ///   - lost: gets what could not be read.
  /// - Throws: `damaged` when neither copy of the manifest can be read, `io`, `denied`, what `edit`
  ///   throws.
  package static func read(
    _ directory: String, precious: Set<UInt8>,
    edit: (Batch.Edit) throws(StoreError) -> Void, lost: (StoreFinding) -> Void
  ) throws(StoreError) {
    let files = SystemFiles()
    let path = directory + "/manifest"
    let file = try files.existing(path, .read)
    let manifest = try Manifest(
      try file.contents(path, at: 0, count: try file.size(path)), path)
    try withoutActuallyEscaping(edit) { (edit) throws(StoreError) in
      try withoutActuallyEscaping(lost) { (lost) throws(StoreError) in
        var salvage = LogSalvage(
          directory: directory, files: files, manifest: manifest, edit: edit, lost: lost,
          precious: precious)
        for table in manifest.tables.reversed() { try salvage.read(table) }
        try salvage.readJournal()
      }
    }
  }

  private init(
    directory: String, files: any LogFileSystem, manifest: Manifest,
    edit: @escaping (Batch.Edit) throws(StoreError) -> Void,
    lost: @escaping (StoreFinding) -> Void, precious: Set<UInt8>
  ) {
    (self.directory, self.files, self.manifest) = (directory, files, manifest)
    (self.edit, self.lost, self.precious) = (edit, lost, precious)
  }

  private func path(_ number: UInt64, _ kind: FileHeader.Kind) -> String {
    "\(directory)/\(FileName(number: number, kind: kind))"
  }

  // MARK: Tables

  private mutating func read(_ entry: Manifest.TableEntry) throws(StoreError) {
    let path = path(entry.number, .table)
    let table: Table
    let index: Table.Index
    do throws(StoreError) {
      let file = try files.existing(path, .read)
      table = Table(entry, path, file, BlockCache(bytes: 0), Losses())
      index = try table.freshIndex()
    } catch {
      guard error.code == .damaged else { throw error }
      lost(StoreFinding(file: path, offset: 0, bytes: entry.length, words: error.message))
      return try forget(from: [1], to: [255])
    }
    for number in index.blocks.indices {
      let known = index.blocks[number]
      guard let block = try table.freshBlock(known) else {
        lost(
          StoreFinding(
            file: path, offset: known.offset, bytes: known.length,
            words: "a block of the index cannot be read"))
        let next = number + 1 < index.blocks.count ? index.blocks[number + 1].first : nil
        try forget(from: known.first, to: next ?? index.last + [0])
        continue
      }
      for at in 0..<block.count {
        try apply(block.key(at) { Bytes($0) }, block.slot(at), in: path)
      }
    }
  }

  /// Removes the rows that older tables gave in a range of stored keys.
  private func forget(from: Bytes, to: Bytes) throws(StoreError) {
    guard let first = from.first, let last = to.first else { return }
    for id in first...max(first, last) where !precious.contains(id) && id < 255 {
      let space = Space(id: id, shape: .rows)
      let low = id == first ? Bytes(from.dropFirst()) : []
      let high = id == last ? Bytes(to.dropFirst()) : Bytes(repeating: 255, count: 70_000)
      try edit(.clear(space, from: low, to: high))
    }
  }

  private mutating func apply(
    _ stored: Bytes, _ slot: Slot, in path: String
  ) throws(StoreError) {
    guard let id = stored.first, id > 0, id < 255 else { return }
    let key = Bytes(stored.dropFirst())
    switch slot {
    case .gone: try edit(.delete(Space(id: id, shape: .rows), key: key))
    case .small(let value): try edit(.put(Space(id: id, shape: .rows), key: key, value: value))
    case .value(let pointer):
      let space = Space(id: id, shape: pointer.isQueue ? .fifo : .rows)
      // Changed bytes are copied too: the record's own checksum reveals them.
      if let value = try value(pointer), !value.isEmpty {
        try edit(.put(space, key: key, value: value))
      } else {
        lost(
          StoreFinding(
            file: self.path(pointer.segment, .segment), offset: Int(pointer.offset),
            bytes: Int(pointer.length), words: "a value cannot be read"))
        try edit(.delete(space, key: key))
      }
    }
  }

  /// The bytes that a table points to; nil when their file is missing or too short.
  private mutating func value(_ pointer: Pointer) throws(StoreError) -> Bytes? {
    let path = path(pointer.segment, .segment)
    var file: (any LogFile)?
    if let known = open[pointer.segment] {
      file = known
    } else {
      if open.count > 64 { open = [:] }
      do throws(StoreError) {
        file = try files.existing(path, .read)
      } catch {
        // Without the file its values are lost; an error of the system does not mean that.
        guard error.code == .damaged else { throw error }
      }
      open[pointer.segment] = .some(file)
    }
    guard let file else { return nil }
    let bytes = try file.contents(path, at: Int(pointer.offset), count: Int(pointer.length))
    return bytes.count == Int(pointer.length) ? bytes : nil
  }

  // MARK: The journal

  private mutating func readJournal() throws(StoreError) {
    guard manifest.active != 0 else { return }
    let path = path(manifest.active, .segment)
    let bytes: Bytes
    do throws(StoreError) {
      let file = try files.existing(path, .read)
      let length = try file.size(path)
      guard length >= manifest.position else {
        throw StoreError.damagedFile(path, "it was cut before the journal")
      }
      bytes = try file.contents(
        path, at: manifest.position, count: length - manifest.position)
    } catch {
      guard error.code == .damaged else { throw error }
      return lost(StoreFinding(file: path, offset: 0, bytes: 0, words: error.message))
    }
    let journal = JournalReader(
      bytes, base: manifest.position, store: manifest.store, segment: manifest.active,
      sequence: manifest.sequence, previous: manifest.previous)
    for range in journal.lost {
      lost(
        StoreFinding(
          file: path, offset: range.lowerBound, bytes: range.count,
          words: "commits in the journal cannot be read"))
    }
    for frame in journal.frames {
      let values = frame.offset + FrameHeader.size + Int(frame.header.editsLength)
      for change in frame.edits {
        switch change {
        case .small(let key, let value): try apply(key, .small(value), in: path)
        case .value(let key, var pointer):
          pointer.segment = manifest.active
          pointer.offset &+= UInt32(truncatingIfNeeded: values)
          try apply(key, .value(pointer), in: path)
        case .delete(let key): try apply(key, .gone, in: path)
        case .clear(let from, let to):
          guard let id = from.first, to.first == id, id > 0, id < 255 else { continue }
          try edit(
            .clear(
              Space(id: id, shape: .rows), from: Bytes(from.dropFirst()), to: Bytes(to.dropFirst()))
          )
        }
      }
    }
  }
}
