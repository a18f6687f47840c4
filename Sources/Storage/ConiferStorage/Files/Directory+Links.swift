#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

extension Directory {
  /// Whether a path leads to a directory or into it, whatever links and spellings it goes through; false when there is no
  /// such directory.
  static func leads(_ path: String, into directory: String) -> Bool {
    guard let sought = FileIdentity(directory) else { return false }
    var place = existing(path)
    while FileIdentity(place) != sought {
      let parent = Platform.parent(of: place)
      guard parent != place else { return false }
      place = parent
    }
    return true
  }

  /// Whether a path names a symbolic link.
  package static func isLink(_ path: String) -> Bool {
    var facts = stat()
    return lstat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFLNK
  }

  /// Whether a path names a directory, and no link to one.
  static func isDirectory(_ path: String) -> Bool {
    var facts = stat()
    return lstat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFDIR
  }

  /// Removes a directory with nothing in it; one that has something stays.
  static func removeEmpty(_ path: String) { rmdir(path) }

  /// The part of a path that exists, from the root and without links.
  private static func existing(_ path: String) -> String {
    var place = path
    while true {
      if let real = realpath(place, nil) {
        defer { free(real) }
        return String(cString: real)
      }
      let parent = Platform.parent(of: place)
      if parent == place { return place }
      place = parent
    }
  }
}
