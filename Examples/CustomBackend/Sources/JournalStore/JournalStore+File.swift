import ConiferKeyValue
import ConiferStorage

extension JournalStore {
  static let name = "journal"
  static let reserveSize = 1 << 18
  private static let title = Bytes("conifer-journal ".utf8)
  private static let header = title + Bytes("1\n".utf8)

  /// Takes the lock and reads the journal; makes one where there is none.
  static func open(_ path: String) throws(StoreError) -> Opened {
    File.makeDirectory(path)
    let lock = try OwnerLock(path: path + "/owner")
    File.remove(path + "/\(name).new")  // What a crash left of a fold: never the store.
    if !File.exists(path + "/\(name)") {
      // The reserve is made after the journal, so there was one.
      guard !File.exists(path + "/reserve") else {
        throw StoreError(.damaged, "\(path)/\(name) is missing. Restore a copy.")
      }
      var poison: StoreError?
      let (file, end) = try make(path, [], &poison)
      try? File.syncDirectory(path + "/..")  // The directory may be as new as the file.
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
    if !File.exists(path + "/reserve") {
      // A disk that has no room for it is not to be helped; the rest works.
      try? File(path + "/reserve", File.creating).write(
        Bytes(repeating: 0, count: reserveSize), at: 0)
    }
    return (file, bytes.count)
  }
}
