/// The names under which coding keys are written; the keys of dictionaries are data, and stay as they
/// are.
public enum KeyEncodingStrategy {
  /// As the type's keys are.
  case useDefaultKeys
  /// `roomName` becomes `room_name`.
  case convertToSnakeCase
  /// A function gives the name, from the keys from the top down.
  case custom((_ codingPath: [any CodingKey]) -> any CodingKey)

  /// The name for the last key of a path.
  package func name(at path: [any CodingKey]) -> String {
    let key = path.last?.stringValue ?? ""
    switch self {
    case .useDefaultKeys: return key
    case .convertToSnakeCase: return SnakeCase.from(key)
    case .custom(let name): return name(path).stringValue
    }
  }
}

/// The names from which coding keys are read; the keys of dictionaries are data, and stay as they are.
public enum KeyDecodingStrategy {
  /// From those of the same names.
  case useDefaultKeys
  /// `roomName` is read from `room_name`.
  case convertFromSnakeCase
  /// A function makes a key of the names from the top down.
  case custom((_ codingPath: [any CodingKey]) -> any CodingKey)

  /// What makes a key of a name below a path; nil when names are keys.
  package func naming(at path: [any CodingKey]) -> ((String) -> String)? {
    switch self {
    case .useDefaultKeys: return nil
    case .convertFromSnakeCase: return { SnakeCase.toCamel($0) }
    case .custom(let key): return { key(path + [AnyCodingKey(stringValue: $0)]).stringValue }
    }
  }
}

/// A dictionary whose keys are an app's data: strategies for names leave them alone.
package protocol StringKeyed {}

extension Dictionary: StringKeyed where Key == String {}
