package import ConiferKeyValue

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

package let rows = Space(id: 1, shape: .rows)
package let queue = Space(id: 2, shape: .fifo)
package let blobs = Space(id: 3, shape: .blobs)
package let spaces = [rows, queue, blobs]

/// A directory for one test, removed with it.
package final class Scratch {
  package let path: String
  package var store: String { path + "/store" }

  /// - Parameter inMemory: whether it may be in memory, where the system has files there: syncing costs nothing then.
  package init(inMemory: Bool = false) throws {
    let usual = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    let base = inMemory && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : usual
    var template = Array("\(base)/conifer-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { throw StoreError(.io, "No scratch directory.") }
    path = String(cString: made)
  }

  deinit {
    for directory in [store, path] {
      for file in Scratch.files(directory) { unlink(file) }
      rmdir(directory)
    }
  }

  /// The paths of what stands in a directory.
  package static func files(_ directory: String) -> [String] {
    names(directory).map { directory + "/" + $0 }
  }

  /// The names in a directory, in order; none when it cannot be read.
  package static func names(_ directory: String) -> [String] {
    guard let stream = opendir(directory) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  package static func read(_ path: String) -> Bytes {
    guard let file = fopen(path, "rb") else { return [] }
    defer { fclose(file) }
    fseek(file, 0, SEEK_END)
    let length = ftell(file)
    rewind(file)
    return Bytes(unsafeUninitializedCapacity: length) { buffer, count in
      count = fread(buffer.baseAddress, 1, length, file)
    }
  }

  package static func write(_ bytes: Bytes, _ path: String) {
    guard let file = fopen(path, "wb") else { return }
    fwrite(bytes, 1, bytes.count, file)
    fclose(file)
  }

  package static func length(_ path: String) -> Int {
    var info = stat()
    return stat(path, &info) == 0 ? Int(info.st_size) : 0
  }
}

/// The code of the error that a closure throws, nil when it throws none.
package func code(_ body: () throws(StoreError) -> Void) -> StoreError.Code? {
  do throws(StoreError) {
    try body()
    return nil
  } catch { return error.code }
}

/// A big-endian number as a key.
package func key(_ number: Int) -> Bytes {
  [
    UInt8(number >> 24 & 0xff), UInt8(number >> 16 & 0xff), UInt8(number >> 8 & 0xff),
    UInt8(number & 0xff),
  ]
}

/// All rows of a space, in the order of a walk; throws what the walk throws.
package func contents(
  _ view: any OrderedView, _ space: Space, descending: Bool = false
) throws(StoreError) -> [[Bytes]] {
  var found: [[Bytes]] = []
  let origin: Origin = descending ? .atOrBefore(Bytes(repeating: 255, count: 40)) : .atOrAfter([])
  try view.walk(space, origin) { key, value in
    found.append([Bytes(key), Bytes(value)])
    return .next
  }
  return found
}

/// What a check of a store finds.
package func findings(_ store: some OrderedStore) throws(StoreError) -> [StoreFinding] {
  var found: [StoreFinding] = []
  _ = try store.verify { found.append($0) }
  return found
}

extension OrderedStore {
  /// Commits one row.
  @discardableResult
  package func put(
    _ space: Space, _ key: Bytes, _ value: Bytes, _ durability: Durability = .process
  ) throws(StoreError) -> CommitID {
    var batch = Batch()
    batch.put(space, key, value)
    return try apply(batch, durability)
  }
}
