import ConiferKeyValue
import ConiferStorage

extension JournalStore {
  static let name = "journal"
  static let files = StoreFiles(kind: "journal", main: name)
  static let reserveSize = 1 << 18
  private static let title = Bytes("conifer-journal ".utf8)
  private static let header = title + Bytes("1\n".utf8)

  /// Takes the lock and reads the journal; makes one where there is none.
  static func open(_ path: String) throws(StoreError) -> Opened {
    File.makeDirectory(path)
    let lock = try OwnerLock(path: path + "/owner", for: files)
    File.remove(path + "/\(name).new")  // What a crash left of a fold: never the store.
    if !File.exists(path + "/\(name)") {
      var poison: StoreError?
      let (file, end) = try make(path, [], &poison)
      try? File.syncDirectory(path + "/..")  // The directory may be as new as the file.
      lock.recordKind()
      return Opened(file: file, lock: lock, end: end, synced: end)
    }
    var opened = Opened(file: try File(path + "/\(name)"), lock: lock)
    let bytes = try opened.file.read()
    try checkHeader(bytes, path)
    opened.end = header.count
    while let frame = Frame(bytes, at: opened.end) {
      for edit in frame.edits { opened.rows.apply(edit) }
      opened.end = frame.end
    }
    // The first frame came with the file's name, so a crash cannot have torn it.
    let isTorn = opened.end > header.count && !wasSynced(bytes, opened.end)
    guard isTorn || opened.end == bytes.count else {
      throw StoreError(
        .damaged,
        "\(path)/\(name) is damaged at byte \(opened.end). Restore a copy, or set it aside.")
    }
    try opened.file.cut(to: opened.end)
    // What a killed process left to the system counts as durable from here on.
    try opened.file.sync()
    try File.syncDirectory(path)
    lock.recordKind()
    opened.synced = opened.end
    return opened
  }

  /// Whether a frame behind a broken one tells that the broken one had been synced.
  private static func wasSynced(_ bytes: Bytes, _ broken: Int) -> Bool {
    (broken..<bytes.count).contains { offset in
      Frame(bytes, at: offset).map { $0.synced > broken } ?? false
    }
  }

  private static func checkHeader(_ bytes: Bytes, _ path: String) throws(StoreError) {
    if bytes.starts(with: header) { return }
    if header.starts(with: bytes) {
      throw StoreError(.damaged, "\(path)/\(name) was cut. Restore a copy, or set it aside.")
    }
    if bytes.starts(with: title) {
      throw StoreError(.newerFormat, "\(path)/\(name) has a later format. Update this program.")
    }
    throw StoreError(.foreign, "\(path)/\(name) is no journal. Use another directory.")
  }

  /// Makes the file with one frame under another name, syncs it, gives it its name, and syncs that.
  static func make(
    _ path: String, _ edits: [Batch.Edit], _ poison: inout StoreError?
  ) throws(StoreError) -> (File, end: Int) {
    let draft = path + "/\(name).new"
    let bytes = header + Frame.bytes(edits, at: header.count, synced: header.count)
    let file: File
    do throws(StoreError) {
      file = try File(draft, File.creating)
      try file.write(bytes, at: 0)
      try file.sync()
      try File.rename(draft, to: path + "/\(name)")
    } catch {
      File.remove(draft)
      if error.code != .full { poison = error }
      throw error
    }
    do throws(StoreError) {
      try File.syncDirectory(path)
    } catch {
      // After a power cut it may be the old file or this one: neither may be written any more.
      poison = error
      throw error
    }
    var reserve = SpaceReserve(in: path, bytes: reserveSize)
    _ = reserve.set()
    return (file, bytes.count)
  }
}

extension JournalStore {
  /// Refuses what no frame can hold.
  func check(_ edit: Batch.Edit) throws(StoreError) {
    let space: Space
    switch edit {
    case .put(let place, let key, let value):
      space = place
      guard key.count <= traits.longestKey, value.count < 1 << 30 else {
        throw StoreError(
          .tooLarge, "Keys may have \(traits.longestKey) bytes, values 1 GiB. Split the value.")
      }
    case .delete(let place, _), .clear(let place, _, _): space = place
    }
    guard space.id != 0, space.id != 255 else {
      throw StoreError(.invalid, "Space \(space.id) is reserved. Use a space from 1 to 254.")
    }
  }

  /// Writes a frame; one that makes room may use the disk's last reserve, so that a full one is emptied.
  func write(
    _ frame: Bytes, of batch: Batch, _ opened: inout Opened
  ) throws(StoreError) {
    do throws(StoreError) {
      try opened.file.write(frame, at: opened.end)
    } catch {
      var reserve = SpaceReserve(in: path, bytes: Self.reserveSize)
      guard error.code == .full, batch.makesRoom, frame.count < Self.reserveSize, reserve.release()
      else { throw error }
      try opened.file.write(frame, at: opened.end)
    }
  }

  /// After a failed sync nobody knows what is on the disk: the system may have dropped the pages.
  func sync(_ file: File, _ poison: inout StoreError?) throws(StoreError) {
    do throws(StoreError) {
      try file.sync()
    } catch {
      poison = error
      throw error
    }
  }

  /// Replaces the file by one that holds the rows alone.
  func fold(_ opened: inout Opened, _ poison: inout StoreError?) throws(StoreError) {
    let edits = opened.rows.chunks.joined().map { row in
      Batch.Edit.put(
        Space(id: row.key[0], shape: .rows), key: Bytes(row.key[1...]), value: row.value)
    }
    (opened.file, opened.end) = try Self.make(path, edits, &poison)
    opened.synced = opened.end
  }
}
