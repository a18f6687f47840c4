/// A closure of the app's, which runs on the callback queue alone.
///
/// The calls that bear the Apple SDK's names take closures that need not be `Sendable`, as Firebase's
/// guides write them; what they share with other code is the app's to guard, as on Apple.
package struct UserCode<Input>: @unchecked Sendable {
  let body: (Input) -> Void

  package init(_ body: @escaping (Input) -> Void) { self.body = body }

  package func callAsFunction(_ input: Input) { body(input) }
}

/// Another value of the app's that is used on the callback queue alone.
package struct UserValue<Value>: @unchecked Sendable {
  package let value: Value

  package init(value: Value) { self.value = value }
}
