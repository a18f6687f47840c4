package import ConiferKeyValue

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// Names in the file system, for what makes and moves whole stores.
package enum Directory {
  /// Whether there is surely nothing at a path; false when the system does not let us look.
  package static func isMissing(_ path: String) -> Bool {
    access(path, F_OK) != 0 && errno == ENOENT
  }

  /// Whether something is at a path that is no directory.
  static func isOther(_ path: String) -> Bool {
    var facts = stat()
    return stat(path, &facts) == 0 && facts.st_mode & S_IFMT != S_IFDIR
  }

  /// The path without links, as far as it is there; all but the last name of one that is not.
  static func resolved(_ path: String) -> String {
    if let whole = realPath(path) { return whole }
    guard let name = path.split(separator: "/").last, name != ".", name != "..",
      let parent = realPath(Platform.parent(of: path))
    else { return path }
    return parent == "/" ? "/\(name)" : "\(parent)/\(name)"
  }

  private static func realPath(_ path: String) -> String? {
    guard let found = realpath(path, nil) else { return nil }
    defer { free(found) }
    return String(cString: found)
  }

  /// Whether there is a file that is not empty.
  static func hasBytes(_ path: String) -> Bool {
    var facts = stat()
    return stat(path, &facts) == 0 && facts.st_size > 0
  }

  /// How long the files in a directory are together; files that cannot be looked at count as empty.
  static func bytes(in directory: String) -> Int {
    let names = (try? names(in: directory)) ?? []
    return names.reduce(into: 0) { sum, name in
      var facts = stat()
      guard stat("\(directory)/\(name)", &facts) == 0, facts.st_mode & S_IFMT == S_IFREG
      else { return }
      sum.add(Int(facts.st_size))
    }
  }

  /// The names in a directory, in order.
  ///
  /// - Throws: `denied`, `io`.
  package static func names(in directory: String) throws(StoreError) -> [String] {
    var names: [String] = []
    let number = list(directory, &names)
    guard number == 0 else { throw Platform.error(number, "list the directory", directory) }
    return names.sorted()
  }

  /// Appends the names in a directory, in no order; returns 0 or the number of the error.
  package static func list(_ directory: String, _ names: inout [String]) -> Int32 {
    guard let stream = opendir(directory) else { return errno }
    defer { closedir(stream) }
    while true {
      // The end of the directory and an error return the same value; only `errno` distinguishes
      // them.
      errno = 0
      guard let entry = readdir(stream) else { return errno }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
  }

  /// The first bytes of a file; nil when there is surely none.
  ///
  /// - Throws: `denied`, `io`.
  package static func contents(_ path: String, limit: Int) throws(StoreError) -> Bytes? {
    guard !isMissing(path) else { return nil }
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {
      // It has just gone, or what is above it is no directory.
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw Platform.error(errno, "read", path)
    }
    defer { Platform.close(file) }
    guard let bytes = Platform.read(file, at: 0, limit: limit) else {
      throw Platform.error(errno, "read", path)
    }
    return bytes
  }

  /// Whether there is a directory with nothing in it.
  package static func isEmpty(_ path: String) -> Bool { (try? names(in: path))?.isEmpty == true }

  /// Whether two directories lie on one volume, so that files can be renamed from one into the other.
  ///
  /// - Throws: `denied`, `io`.
  static func areOnOneVolume(_ one: String, _ other: String) throws(StoreError) -> Bool {
    var volumes: [dev_t] = []
    for path in [one, other] {
      var info = stat()
      guard stat(path, &info) == 0 else { throw Platform.error(errno, "look at", path) }
      volumes.append(info.st_dev)
    }
    return volumes[0] == volumes[1]
  }

  /// Makes a directory that must not be there yet.
  ///
  /// - Returns: false when something of that name is there.
  /// - Throws: `denied`, `full`, `io`.
  package static func make(_ path: String) throws(StoreError) -> Bool {
    if mkdir(path, 0o700) == 0 {
      try Platform.syncDirectory(Platform.parent(of: path))
      return true
    }
    guard errno == EEXIST else { throw Platform.error(errno, "make the directory", path) }
    return false
  }

  /// Gives a file or directory another name; `Platform.syncDirectory` makes that durable.
  ///
  /// - Throws: `denied`, `full`, `io`.
  package static func move(_ path: String, to new: String) throws(StoreError) {
    guard rename(path, new) == 0 else { throw Platform.error(errno, "rename", path) }
  }

  /// Renames a directory, durably, without replacing an existing entry of the new name.
  ///
  /// - Parameter replacesEmpty: whether an empty directory of that name is replaced: a process that
  ///   is killed during this call leaves one.
  /// - Returns: false when something of that name is there.
  /// - Throws: `denied`, `full`, `io`.
  package static func moveWithoutReplacing(
    _ path: String, to new: String, replacesEmpty: Bool = false
  ) throws(StoreError) -> Bool {
    // Making the empty directory claims the name; renaming replaces it in one step.
    let isMade = try make(new)
    guard isMade || replacesEmpty else { return false }
    if rename(path, new) != 0 {
      let number = errno
      if isMade { rmdir(new) }
      if !isMade, [ENOTEMPTY, EEXIST, ENOTDIR].contains(number) { return false }
      throw Platform.error(number, "rename", path)
    }
    try Platform.syncDirectory(Platform.parent(of: new))
    try Platform.syncDirectory(Platform.parent(of: path))
    return true
  }

  /// Renames a directory to the first name of a series that is free, durably: the base, then with `-2`,
  /// `-3`.
  ///
  /// - Returns: the new name.
  /// - Throws: `denied`, `full`, `io`.
  package static func moveToFreeName(
    _ path: String, like base: String
  ) throws(StoreError) -> String {
    var number = 1
    while true {
      let name = number == 1 ? base : "\(base)-\(number)"
      if try moveWithoutReplacing(path, to: name) { return name }
      number += 1
    }
  }

  /// What there is of a series of names: the base, then with `-2`, `-3` behind it.
  ///
  /// - Throws: `denied`, `io`.
  package static func series(like base: String) throws(StoreError) -> [String] {
    // The last name is compared, and the rest of the path kept as it is spelled.
    let slash = base.utf8.lastIndex(of: UInt8(ascii: "/"))
    let start = slash.map { base.utf8.index(after: $0) } ?? base.startIndex
    let (place, name) = (String(base[..<start]), base[start...])
    return try names(in: Platform.parent(of: base)).filter { found in
      guard found.utf8.starts(with: name.utf8) else { return false }
      let rest = found.utf8.dropFirst(name.utf8.count)
      let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
      return rest.isEmpty
        || rest.first == UInt8(ascii: "-") && rest.count > 1
          && rest.dropFirst().allSatisfy(digits.contains)
    }.map { place + $0 }
  }

  /// Removes a file; what is not there is no error.
  ///
  /// - Throws: `denied`, `io`.
  static func removeFile(_ path: String) throws(StoreError) {
    guard unlink(path) == 0 || errno == ENOENT else { throw Platform.error(errno, "remove", path) }
  }

  /// Removes a file, or a directory with all in it; what is not there is no error.
  package static func remove(_ path: String) {
    if unlink(path) == 0 || errno == ENOENT || isLink(path) { return }
    for name in (try? names(in: path)) ?? [] { remove("\(path)/\(name)") }
    rmdir(path)
  }

  /// Puts bytes under a name, durably, whole or not at all. A process that is killed meanwhile may leave
  /// a draft, `NAME.new`, which the next call replaces.
  ///
  /// - Throws: `denied`, `full`, `io`.
  package static func put(_ bytes: Bytes, at path: String) throws(StoreError) {
    let draft = path + ".new"
    do throws(StoreError) {
      try write(draft) { (file) throws(StoreError) in
        try append(bytes, to: file, draft)
        let number = Platform.sync(file)
        guard number == 0 else { throw Platform.error(number, "sync", draft) }
      }
      try move(draft, to: path)
    } catch {
      unlink(draft)
      throw error
    }
    try Platform.syncDirectory(Platform.parent(of: path), isFull: true)
  }

  /// Copies the files of a directory into a new one.
  ///
  /// - Parameter leaving: names that are not copied.
  /// - Throws: `denied`, `full`, `io`.
  package static func copyFiles(
    _ directory: String, to copy: String, leaving: Set<String>
  ) throws(StoreError) {
    try Platform.makeDirectory(copy)
    for name in try names(in: directory) where !leaving.contains(name) {
      let (path, new) = ("\(directory)/\(name)", "\(copy)/\(name)")
      var info = stat()
      guard stat(path, &info) == 0 else {
        // A broken link has no content.
        if errno == ENOENT { continue }
        throw Platform.error(errno, "look at", path)
      }
      guard info.st_mode & S_IFMT == S_IFREG else { continue }
      let source = open(path, O_RDONLY | O_CLOEXEC)
      guard source >= 0 else { throw Platform.error(errno, "read", path) }
      defer { Platform.close(source) }
      try write(new) { (file) throws(StoreError) in
        var at = 0
        while true {
          guard let chunk = Platform.read(source, at: at, limit: 1 << 20) else {
            throw Platform.error(errno, "read", path)
          }
          if chunk.isEmpty { return }
          try append(chunk, to: file, new)
          at += chunk.count
        }
      }
    }
  }

  private static func write(
    _ path: String, _ body: (Int32) throws(StoreError) -> Void
  ) throws(StoreError) {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw Platform.error(errno, "write", path) }
    defer { Platform.close(file) }
    try body(file)
  }

  private static func append(
    _ bytes: Bytes, to file: Int32, _ path: String
  ) throws(StoreError) {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes { all in
        let rest = UnsafeRawBufferPointer(rebasing: all[done...])
        return systemWrite(file, rest)
      }
      if count < 0 {
        if errno == EINTR { continue }
        throw Platform.error(errno, "write", path)
      }
      done += count
    }
  }

  private static func systemWrite(_ file: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Darwin)
      Darwin.write(file, bytes.baseAddress, bytes.count)
    #elseif canImport(Glibc)
      Glibc.write(file, bytes.baseAddress, bytes.count)
    #elseif canImport(Musl)
      Musl.write(file, bytes.baseAddress, bytes.count)
    #endif
  }
}
